import type { HttpExchange } from '#base/http-server.ts'

export type ConnectNode = (nodeName: string) => ((exchange: HttpExchange) => void) | undefined

/** How the API server reaches the kubelets of its own process, or of its own machine. */
export class LocalNodes {
  readonly #hosts = new Map<string, string>()
  readonly #servers: ConnectNode[] = []

  /** A kubelet that listens on this host, though its node's address is another. */
  add(nodeName: string, host: string): void {
    this.#hosts.set(nodeName, host)
  }

  remove(nodeName: string): void {
    this.#hosts.delete(nodeName)
  }

  /** Kubelets that listen nowhere; undefined for nodes that are none of these. */
  serveBy(connect: ConnectNode): void {
    this.#servers.push(connect)
  }

  readonly hostOf = (nodeName: string): string | undefined => this.#hosts.get(nodeName)

  readonly connectNode: ConnectNode = (nodeName) => {
    for (const connect of this.#servers) {
      const server = connect(nodeName)
      if (server) return server
    }
    return undefined
  }
}
