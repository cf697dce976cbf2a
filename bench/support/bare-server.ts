/** What Node can do at best: `node bare-server.ts '{"body":FILE,"pem":FILE}'` sends the same bytes to everybody, and looks at nothing. */
import { readFileSync } from 'node:fs'
import { createSecureServer, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'

const { body, pem } = JSON.parse(process.argv[2] ?? '{}') as { body: string; pem: string }
const bytes = readFileSync(body)
const identity = readFileSync(pem)
const server = createSecureServer({ cert: identity, key: identity, settings: { maxConcurrentStreams: 1000, initialWindowSize: 1 << 20 } })
server.on('stream', (stream: ServerHttp2Stream) => {
  stream.on('error', () => {})
  stream.respond({ ':status': 200, 'content-type': 'application/json' })
  stream.end(bytes)
})
server.listen(0, '127.0.0.1', () => console.log(`listening ${(server.address() as AddressInfo).port}`))
