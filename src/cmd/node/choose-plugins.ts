import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import type { Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { nodeProcesses } from '#base/processes.ts'
import type { Random } from '#base/random.ts'
import { nodeSockets } from '#base/sockets.ts'
import { layPlugins } from '#cmd/cni/lay-plugins.ts'
import { stockPluginDirectory } from '#kubelet/runtimes/cri/private-containerd.ts'
import { servePlugins } from '#network/cni/plugin-server.ts'

export type PluginChoice = { plugins: 'own' | 'stock'; cniBinDirectory: string }

const needed = ['bridge', 'host-local', 'portmap', 'bandwidth', 'loopback']
const tokenBytes = 24

type Seams = { files: Files; random: Random; logger: Logger }

/** The machine's plugins where it has them all; else ours, laid into the node's directory and served by this process. */
export async function choosePlugins(stage: Stage, directory: string, choice: string, seams: Seams): Promise<PluginChoice> {
  const { files, random, logger } = seams
  const stock = choice === 'own' ? undefined : await stockPluginDirectory(files, needed)
  if (stock !== undefined) return { plugins: 'stock', cniBinDirectory: stock }
  if (choice === 'stock')
    throw new Error(
      `--cni-plugins stock: the plugins ${needed.join(', ')} are not installed; Debian: apt install containernetworking-plugins`,
    )
  const own = join(directory, 'cni', 'bin')
  const token = Buffer.from(random.bytes(tokenBytes)).toString('hex')
  const server = await servePlugins(token, nodeSockets, { files, processes: nodeProcesses }, logger)
  stage.defer(() => server.close())
  await layPlugins(own, files, server)
  return { plugins: 'own', cniBinDirectory: own }
}
