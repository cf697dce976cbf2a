import type { ProxyListener, ProxyUpdate } from '#ingress/data-plane/ingress-proxy.ts'
import type { DataPlane } from '#ingress/data-plane/proxy-threads.ts'

/** A data plane that only remembers what it was told. */
export class RecordingDataPlane implements DataPlane {
  readonly updates: ProxyUpdate[] = []
  readonly listening = new Map<string, Omit<ProxyListener, 'sharesPort'>>()
  /** Ports that somebody else has. */
  readonly taken = new Set<number>()
  isStopped = false

  apply(update: ProxyUpdate): void {
    this.updates.push(update)
  }

  async listen(at: Omit<ProxyListener, 'sharesPort'>): Promise<number> {
    if (this.taken.has(at.port)) throw new Error(`listen EADDRINUSE: address already in use ${at.host}:${at.port}`)
    this.listening.set(`${at.host}:${at.port}`, at)
    return at.port
  }

  unlisten({ host, port }: Pick<ProxyListener, 'host' | 'port'>): void {
    this.listening.delete(`${host}:${port}`)
  }

  async stop(): Promise<void> {
    this.isStopped = true
  }
}
