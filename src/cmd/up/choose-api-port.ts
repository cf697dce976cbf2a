import { join } from 'node:path'
import { type Files, hasCode } from '#base/files.ts'
import type { Sockets } from '#base/sockets.ts'

export type ApiPortOptions = {
  dataDir: string
  listen: string
  /** The usual one. */
  apiPort: number
  /** Whoever gives clusters names has several. */
  isNamed: boolean
}

/**
 * Where nobody has asked for a port: the one that the cluster had before, since kubeconfigs may still name it; else the usual one. A
 * cluster with a name takes any other where that is in use; without one it does not start, as the port may be that of the user's cluster.
 */
export async function chooseApiPort(
  { dataDir, listen, apiPort, isNamed }: ApiPortOptions,
  { files, sockets }: { files: Files; sockets: Sockets },
): Promise<number> {
  const last = lastPort(await files.readTextIfPresent(join(dataDir, 'admin.kubeconfig')), listen)
  if (last !== undefined || !isNamed) return last ?? apiPort
  return (await isFree(apiPort, listen, sockets)) ? apiPort : freePort(listen, sockets)
}

function lastPort(kubeconfig: string | undefined, listen: string): number | undefined {
  const server = /^ +server: "?(\S+?)"?$/m.exec(kubeconfig ?? '')?.[1]
  if (server === undefined || !URL.canParse(server)) return undefined
  const { hostname, port } = new URL(server)
  return hostname === listen && port !== '' ? Number(port) : undefined
}

async function isFree(port: number, host: string, sockets: Sockets): Promise<boolean> {
  try {
    const listener = await sockets.listenTcp({ host, port }, ({ destroy }) => destroy())
    await listener.close()
    return true
  } catch (error) {
    // Whatever else is wrong with the place is said by whoever is to listen there.
    return !hasCode(error, 'EADDRINUSE')
  }
}

async function freePort(host: string, sockets: Sockets): Promise<number> {
  const listener = await sockets.listenTcp({ host, port: 0 }, ({ destroy }) => destroy())
  await listener.close()
  return listener.port
}
