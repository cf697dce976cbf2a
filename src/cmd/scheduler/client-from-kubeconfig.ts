import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { type HttpClient, nodeHttpClient } from '#base/http-client.ts'
import { thisProcess } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'
import { Client } from '#client/client.ts'
import { type ConnectSeams, connect, connectInCluster } from '#client/kubeconfig/connect.ts'
import { Kubeconfig } from '#client/kubeconfig/kubeconfig.ts'
import { kubernetesVersion } from '#cmd/version.ts'

/** Without a path: from inside of a pod. */
export async function clientFromKubeconfig(path: string): Promise<Client & Disposable> {
  const opened: HttpClient[] = []
  const seams: ConnectSeams = {
    files: nodeFiles,
    processes: nodeProcesses,
    clock: systemClock,
    http(options) {
      const http = nodeHttpClient(options)
      opened.push(http)
      return http
    },
  }
  const transport =
    path === ''
      ? await connectInCluster(thisProcess.environment, seams)
      : await connect(await (await Kubeconfig.read(nodeFiles, path)).context(), seams)
  if (transport === undefined) throw new Error('there is no API server to talk to; name one with --kubeconfig')
  const client = new Client({ transport, userAgent: `kube-scheduler/${kubernetesVersion}` })
  return Object.assign(client, {
    [Symbol.dispose]() {
      for (const http of opened) http[Symbol.dispose]()
    },
  })
}
