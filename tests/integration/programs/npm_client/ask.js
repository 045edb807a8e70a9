/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.js KIND HOST PORT: each line of stdin, a request as JSON, goes to a node
 * of NG by the package rtpengine-client; "reply " and the answer are a line of
 * stdout. The client itself writes others.
 */
'use strict';
const readline = require('readline');
const { Client, TcpClient } = require('rtpengine-client');

const [kind, host, port] = process.argv.slice(2);
const client = kind === 'udp' ?
  new Client({ localAddress: '127.0.0.1', timeout: 60000 }) :
  new TcpClient({ hostport: `${host}:${port}`, timeout: 60000 });

function ask({ command, ...more }) {
  return kind === 'udp' ? client[command](Number(port), host, more) :
    client[command](more);
}

async function main() {
  for await (const line of readline.createInterface(process.stdin)) {
    const reply = await ask(JSON.parse(line));
    console.log('reply ' + JSON.stringify(reply));
  }
  client.close();
}

client.once('listening', main);
