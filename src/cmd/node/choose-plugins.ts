import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import { layPlugins } from '#cmd/cni/lay-plugins.ts'
import { stockPluginDirectory } from '#kubelet/runtimes/cri/private-containerd.ts'

export type PluginChoice = { plugins: 'own' | 'stock'; cniBinDirectory: string }

const needed = ['bridge', 'host-local', 'portmap', 'bandwidth', 'loopback']

/** The machine's plugins where it has them all, since they start faster than ours; else ours, laid into the directory. */
export async function choosePlugins(dataDir: string, wish: string, files: Files): Promise<PluginChoice> {
  const stock = wish === 'own' ? undefined : await stockPluginDirectory(files, needed)
  if (stock !== undefined) return { plugins: 'stock', cniBinDirectory: stock }
  if (wish === 'stock')
    throw new Error(
      `--cni-plugins stock: the plugins ${needed.join(', ')} are not installed; Debian: apt install containernetworking-plugins`,
    )
  const own = join(dataDir, 'cni', 'bin')
  await layPlugins(own, files)
  return { plugins: 'own', cniBinDirectory: own }
}
