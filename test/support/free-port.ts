/** Ports for programs that have to be told theirs before they listen. */
import { randomInt } from 'node:crypto'
import { createServer, type ListenOptions, type Server } from 'node:net'

/** Below the ports that the kernel gives to whoever asks for any, for a connection or to listen: one of those is another's a moment later. */
const [first, count] = [20_000, 4000]

/**
 * One that nobody listens on, and no other test is given while this process runs: it may be used later, and again after a restart of
 * whatever listens on it.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + randomInt(count)
    const hold = await tryToListen({ path: nameOf(port) })
    if (hold === undefined) continue
    const probe = await tryToListen({ port })
    if (probe === undefined) {
      hold.close()
      continue
    }
    await new Promise((resolve) => probe.close(resolve))
    hold.unref()
    return port
  }
}

/** Of a socket that is there for nothing but to be taken; Linux has such that leave no file behind, one set for each network namespace. */
const nameOf = (port: number): string | undefined => (process.platform === 'linux' ? `\0typernetes-test-port-${port}` : undefined)

function tryToListen(at: ListenOptions & { path?: string | undefined }): Promise<Server | undefined> {
  const server = createServer()
  const { path, port = 0 } = at
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error)))
    server.listen(path === undefined ? { port } : { path }, () => resolve(server))
  })
}
