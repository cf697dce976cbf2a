/** `/logs/…`: files of the node's own log directory. */
import { join } from 'node:path/posix'
import type { Files } from '#base/files.ts'
import type { HttpExchange } from '#base/http-server.ts'
import { Refusal } from '#kubelet/server/refusal.ts'
import { sendPieces } from '#kubelet/server/send-pieces.ts'

const blockBytes = 64 * 1024

/** `path` is what follows `/logs`. Links are not followed: they may lead anywhere. */
export async function nodeLogs(exchange: HttpExchange, path: string, directory: string, files: Files): Promise<void> {
  const parts = decodeURIComponent(path)
    .split('/')
    .filter((part) => part !== '')
  if (parts.some((part) => part === '..' || part.includes('\0'))) throw new Refusal(400, 'invalid URL path\n')
  for (let depth = 1; depth < parts.length; depth++) {
    if ((await files.stat(join(directory, ...parts.slice(0, depth))))?.kind !== 'directory') throw notThere()
  }
  const place = join(directory, ...parts)
  const stat = await files.stat(place)
  if (stat?.kind === 'file') return sendPieces(exchange, content(place, files), 'text/plain; charset=utf-8')
  if (stat?.kind !== 'directory') throw notThere()
  const names: string[] = []
  for (const name of await files.list(place)) names.push((await files.stat(join(place, name)))?.kind === 'directory' ? `${name}/` : name)
  const links = names.map((name) => `<a href="${encodeURI(name)}">${escaped(name)}</a>\n`).join('')
  exchange.respond(200, { 'content-type': 'text/html; charset=utf-8' }, `<!doctype html>\n<pre>\n${links}</pre>\n`)
}

const notThere = () => new Refusal(404, '404 page not found\n')

const escaped = (text: string) => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)

async function* content(path: string, files: Files): AsyncGenerator<Uint8Array> {
  await using file = await files.open(path, 'r')
  for (let position = 0; ; ) {
    const block = await file.readAt(position, blockBytes)
    yield block
    position += block.length
    if (block.length < blockBytes) return
  }
}
