# What machines this is for: 64 bits, little-endian; tested on x86-64 and arm64.
# Trace files, the words that a ring's slots are and what is added up in ns are
# written for these, and nobody has looked at what others would make of them.

# Set @out to why programs cannot be for a machine whose pointers have @bytes and
# whose numbers have the @order (CMAKE_C_BYTE_ORDER); empty if they can.
function(cr_machine_unfit bytes order out)
  set(why "")
  if(NOT bytes EQUAL 8)
    math(EXPR bits "${bytes} * 8")
    set(why "it has ${bits} bits")
  elseif(NOT order STREQUAL "LITTLE_ENDIAN")
    set(why "it is not little-endian")
  endif()
  set(${out} "${why}" PARENT_SCOPE)
endfunction()

cr_machine_unfit("${CMAKE_SIZEOF_VOID_P}" "${CMAKE_C_BYTE_ORDER}" why)
if(why)
  message(FATAL_ERROR
          "codec-runner is for little-endian machines of 64 bits, such as x86-64 "
          "and arm64. This is for ${CMAKE_SYSTEM_PROCESSOR}: ${why}.")
endif()
