# cmake -DIN=FILE -DOUT=FILE.c -P embed.cmake: a text file as the C string
# http_page, in octets, since a string literal has no room for it.
file(READ ${IN} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," octets "${hex}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)"
       "\\1\n" octets "${octets}")
file(WRITE ${OUT} "extern const char http_page[];\n\n"
     "const char http_page[] = {\n${octets}0x00\n};\n")
