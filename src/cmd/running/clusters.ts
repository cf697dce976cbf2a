/** `typernetes list` and `use`: several clusters on one machine. */
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { clusterNames, contextOfCluster, directoryOfCluster } from '#cmd/cluster-names.ts'
import { runningCluster } from '#cmd/running/running-cluster.ts'
import { textTable } from '#cmd/text-table.ts'
import { currentOwnContext, mergeOwnKubeconfig } from '#cmd/up/kubeconfig.ts'

export async function printClusters({ output }: { output: string }): Promise<void> {
  const current = await currentOwnContext(nodeFiles)
  const clusters = await Promise.all(
    (await clusterNames()).map(async (name) => {
      const dataDir = directoryOfCluster(name)
      const running = await runningCluster(dataDir)
      const context = contextOfCluster(dataDir)
      return { name, running: running !== undefined, inUse: context === current, url: running?.url ?? '', context, dataDir }
    }),
  )
  if (output === 'name') {
    for (const { name } of clusters) thisProcess.print(name)
    return
  }
  if (output === 'json') return thisProcess.print(JSON.stringify(clusters, undefined, 2))
  if (clusters.length === 0) return thisProcess.print('There are no clusters; start one with typernetes up')
  const rows = clusters.map(({ name, running, inUse, url, dataDir }) => [
    ...[name, running ? 'running' : 'stopped', inUse ? '*' : '', url, dataDir],
  ])
  thisProcess.print(textTable(['NAME', 'STATE', 'IN USE', 'API', 'DIRECTORY'], rows))
}

/** Makes kubectl speak to this cluster unless it is told otherwise. */
export async function useCluster(name: string): Promise<void> {
  const dataDir = directoryOfCluster(name)
  const running = await runningCluster(dataDir)
  if (running === undefined) throw new Error(`no cluster ${name} runs; start it with typernetes up ${name}`)
  const path = await mergeOwnKubeconfig(nodeFiles, running.kubeconfig, contextOfCluster(dataDir))
  thisProcess.print(`kubectl uses the context ${contextOfCluster(dataDir)} of ${path} now`)
}
