import type { HttpExchange } from '#base/http-server.ts'
import type { Runtime } from '#kubelet/runtimes/runtime.ts'
import { KubeletServer, type ServerParts } from '#kubelet/server/kubelet-server.ts'

export type InProcessServersOptions = Omit<ServerParts, 'runtime' | 'allPods'> & {
  /** Undefined for nodes that are not in this process. */
  runtimeOf(nodeName: string): Runtime | undefined
  podsOn(nodeName: string): ReturnType<ServerParts['allPods']>
}

/** The HTTP interfaces of nodes in this process, for the API server in the same: no sockets, and nothing is kept for nodes nobody asks. */
export function inProcessServers(options: InProcessServersOptions): (nodeName: string) => ((exchange: HttpExchange) => void) | undefined {
  const { runtimeOf, podsOn, ...parts } = options
  const refuse = () => Promise.reject(new Error('the node has its caller in its own process'))
  return (nodeName) => {
    const runtime = runtimeOf(nodeName)
    if (runtime === undefined) return undefined
    const server = new KubeletServer({
      ...{ ...parts, runtime, nodeName, client: { create: refuse } },
      allPods: () => podsOn(nodeName),
      access: { clientAuthorities: () => [], reviewsTokens: false, allowsAnonymous: false, allowsEverything: false },
    })
    return server.handleTrusted
  }
}
