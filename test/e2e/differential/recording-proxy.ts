/** A server between a client and the cluster that remembers what was written. */
import { createServer, request as send } from 'node:http'
import { readProtobuf } from '../../../src/api/codec/protobuf.ts'
import { schemaNameOf } from '../../../src/api/schema/schema.ts'

export type WrittenRequest = { method: string; target: string; contentType: string; body: unknown }

export type RecordingProxy = Disposable & {
  url: string
  /** What was written since the last call. */
  take(): WrittenRequest[]
}

/** Passes on to a server without TLS. Watches and reads are passed on unseen. */
export async function recordingProxy(port: number): Promise<RecordingProxy> {
  let written: WrittenRequest[] = []
  const server = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const body = Buffer.concat(chunks)
      if (incoming.method !== 'GET')
        written.push({
          method: incoming.method ?? '',
          target: sortedTarget(incoming.url ?? ''),
          contentType:
            (incoming.headers['content-type'] ?? 'application/json').split(';')[0]?.replace('vnd.kubernetes.protobuf', 'json') ?? '',
          body: bodyOf(body),
        })
      // On connections of their own: of one that is kept the server may have had enough in this moment.
      const place = { port, host: '127.0.0.1', agent: false as const }
      const passed = send({ ...place, method: incoming.method, path: incoming.url, headers: incoming.headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers)
        // Of a watch, the first event may be long in coming.
        outgoing.flushHeaders()
        answer.pipe(outgoing)
      })
      passed.on('error', () => outgoing.destroy())
      outgoing.on('close', () => passed.destroy())
      passed.end(body)
    })
  })
  server.on('upgrade', (incoming, socket, head) => {
    const passed = send({ port, host: '127.0.0.1', agent: false, method: incoming.method, path: incoming.url, headers: incoming.headers })
    passed.on('upgrade', (answer, other, otherHead) => {
      const lines = answer.rawHeaders.reduce((text, part, index) => text + part + (index % 2 === 0 ? ': ' : '\r\n'), '')
      socket.write(`HTTP/1.1 101 Switching Protocols\r\n${lines}\r\n`)
      if (otherHead.length > 0) socket.write(otherHead)
      if (head.length > 0) other.write(head)
      socket.pipe(other).pipe(socket)
      socket.on('error', () => other.destroy())
      other.on('error', () => socket.destroy())
    })
    passed.on('response', (answer) => {
      socket.write(`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\n\r\n`)
      answer.pipe(socket)
    })
    passed.on('error', () => socket.destroy())
    passed.end()
  })
  server.keepAliveTimeout = 600_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port: own } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${own}`,
    take() {
      const taken = written
      written = []
      return taken
    },
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

function sortedTarget(target: string): string {
  const [path = '', query = ''] = target.split('?')
  const parts = query.split('&').filter((part) => part !== '')
  return `${path}${parts.length > 0 ? `?${parts.sort().join('&')}` : ''}`
}

/** Typed clients write protobuf. */
function bodyOf(body: Buffer): unknown {
  if (body.subarray(0, 4).toString('latin1') !== 'k8s\0') return parsed(body.toString())
  const document = readProtobuf(body)
  const { apiVersion, kind } = document.typeMeta
  const slash = apiVersion.indexOf('/')
  const name = schemaNameOf({ group: slash < 0 ? '' : apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1), kind })
  return name === undefined ? body.toString('latin1') : document.decode(name)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
