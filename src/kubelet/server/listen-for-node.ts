import { type HttpListener, listenHttp, type TlsMaterial } from '#base/http-server.ts'
import type { KubeletServer } from '#kubelet/server/kubelet-server.ts'

export type NodePorts = {
  /** Where everything is served, to those who may; port 0 takes any. */
  secure?: { host: string; port: number; tls: TlsMaterial }
  /** `/healthz` alone, for this machine. */
  health?: { host: string; port: number }
  /** What is no secret, to everybody. */
  readOnly?: { host: string; port: number }
}

export type NodeListeners = { secure: HttpListener | undefined; close(): Promise<void> }

/** Opens the ports of a kubelet; none stays open when one cannot be had. */
export async function listenForNode(server: KubeletServer, { secure, health, readOnly }: NodePorts): Promise<NodeListeners> {
  await using opened = new AsyncDisposableStack()
  const open = async (options: Parameters<typeof listenHttp>[0]) => {
    const listener = await listenHttp(options)
    opened.defer(() => listener.close())
    return listener
  }
  const secureListener = secure && (await open({ ...secure, onExchange: server.handle }))
  if (health !== undefined) await open({ ...health, onExchange: server.handleHealth })
  if (readOnly !== undefined) await open({ ...readOnly, onExchange: server.handleReadOnly })
  const listening = opened.move()
  return { secure: secureListener, close: () => listening.disposeAsync() }
}
