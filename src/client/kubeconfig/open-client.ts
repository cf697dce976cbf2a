import { delimiter, join } from 'node:path'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { type HttpClient, nodeHttpClient } from '#base/http-client.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { nodeProcesses } from '#base/processes.ts'
import { Client } from '#client/client.ts'
import { type ConnectSeams, connect, inClusterContext } from '#client/kubeconfig/connect.ts'
import { Kubeconfig, type KubeconfigContext } from '#client/kubeconfig/kubeconfig.ts'
import type { Transport } from '#client/transport.ts'

export type OpenClientOptions = {
  userAgent?: string
  /** Absent: what $KUBECONFIG names, else the pod's own credentials, else ~/.kube/config. Empty: the pod's own credentials only. */
  kubeconfig?: string
  /** One of the kubeconfig's contexts; its current one where absent. */
  context?: string
  /** Another address than the kubeconfig's. */
  server?: string
}

/** Requests after the disposal fail. */
export type OpenedClient = Client &
  Disposable & {
    /** The context's, `default` where it says none. */
    readonly namespace: string
    /** The same server as somebody else: `authorization` is asked for before each request. */
    as(authorization: () => Promise<string>): Client
  }

/** A client of the cluster that kubectl would talk to, or of the one the process runs in. */
export async function openClient(options: OpenClientOptions = {}): Promise<OpenedClient> {
  const { userAgent = 'typernetes', server } = options
  const opened: HttpClient[] = []
  const seams: ConnectSeams = {
    files: nodeFiles,
    processes: nodeProcesses,
    clock: systemClock,
    http(httpOptions) {
      const http = nodeHttpClient(httpOptions)
      opened.push(http)
      return http
    },
  }
  const context = await contextOf(options)
  if (context === undefined) throw new Error('there is no API server to talk to; name one with a kubeconfig')
  if (server) context.cluster.server = server
  const transport = await connect(context, seams)
  const anonymous = await connect({ ...context, user: {} }, seams)
  return Object.assign(new Client({ transport, userAgent }), {
    namespace: context.namespace || 'default',
    as: (authorization: () => Promise<string>) => new Client({ transport: authorized(anonymous, authorization), userAgent }),
    [Symbol.dispose]() {
      for (const http of opened) http[Symbol.dispose]()
    },
  })
}

async function contextOf({ kubeconfig, context }: OpenClientOptions): Promise<KubeconfigContext | undefined> {
  const { environment } = thisProcess
  if (kubeconfig === '') return inClusterContext(environment, nodeFiles)
  if (kubeconfig !== undefined) return (await Kubeconfig.read(nodeFiles, kubeconfig)).context(context)
  const named = (environment['KUBECONFIG'] ?? '').split(delimiter).filter((path) => path !== '')
  if (named.length === 0 && context === undefined && environment['KUBERNETES_SERVICE_HOST']) return inClusterContext(environment, nodeFiles)
  const paths = named.length > 0 ? named : [join(thisMachine().homeDirectory, '.kube', 'config')]
  return (await Kubeconfig.readPresent(nodeFiles, paths))?.context(context)
}

function authorized(transport: Transport, authorization: () => Promise<string>): Transport {
  return {
    send: async (request) => transport.send({ ...request, headers: { ...request.headers, authorization: await authorization() } }),
  }
}
