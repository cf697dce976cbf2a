import { hasCode } from '#base/files.ts'
import { type HttpListener, listenHttp, type TlsMaterial } from '#base/http-server.ts'
import type { Logger } from '#base/log.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'
import { tlsLimitsOf } from '#kubelet/configuration/tls-limits.ts'
import type { KubeletServer } from '#kubelet/server/kubelet-server.ts'

/** Where else everything is served, on the same port, to those that come from certain addresses. */
export type OtherPlace = { host: string; accepts(remoteAddress: string): boolean }

export type NodeServing = {
  tls: TlsMaterial
  /** The usual port may be somebody else's. */
  takesAnyPort?: boolean
  alsoAt?: OtherPlace
}

export type NodeListeners = { port: number | undefined; setTls(tls: TlsMaterial): void; close(): Promise<void> }

type Ports = Pick<
  KubeletConfiguration,
  'enableServer' | 'address' | 'port' | 'healthzBindAddress' | 'healthzPort' | 'readOnlyPort' | 'tlsMinVersion' | 'tlsCipherSuites'
>

/** Anybody in the cluster may connect, and each connection is a descriptor, of which starting a container takes some. */
const mostConnections = 5_000

/** Opens the ports of a kubelet; none stays open when one cannot be had. */
export async function listenForNode(
  server: KubeletServer,
  ports: Ports,
  serving: NodeServing | undefined,
  logger: Logger,
): Promise<NodeListeners> {
  try {
    return await openPorts(server, ports, serving, logger)
  } catch (error) {
    if (!serving?.takesAnyPort || !hasCode(error, 'EADDRINUSE')) throw error
    logger.info('kubelet ports 10250 and 10248 are in use, using others')
    return openPorts(server, { ...ports, port: 0, healthzPort: 0, readOnlyPort: 0 }, serving, logger)
  }
}

async function openPorts(server: KubeletServer, ports: Ports, serving: NodeServing | undefined, logger: Logger): Promise<NodeListeners> {
  const { enableServer, address, healthzBindAddress, healthzPort, readOnlyPort } = ports
  await using opened = new AsyncDisposableStack()
  const open = async (options: Parameters<typeof listenHttp>[0]) => {
    const listener = await listenHttp({
      ...{ logger, maxConnections: mostConnections, maxConnectionsPerAddress: server.connectionsFor },
      ...options,
    })
    opened.defer(() => listener.close())
    return listener
  }
  const secure: HttpListener[] = []
  let port: number | undefined
  if (enableServer && serving !== undefined) {
    const { tls, alsoAt } = serving
    const secured = { tls, tlsLimits: tlsLimitsOf(ports), onExchange: server.handle }
    const first = await open({ host: address, port: ports.port, ...secured })
    port = first.port
    secure.push(first)
    if (alsoAt !== undefined) secure.push(await open({ ...alsoAt, port, ...secured }))
  }
  if (healthzPort > 0) await open({ host: healthzBindAddress, port: healthzPort, onExchange: server.handleHealth })
  if (readOnlyPort > 0) await open({ host: address, port: readOnlyPort, onExchange: server.handleReadOnly })
  const listening = opened.move()
  return {
    port,
    setTls(tls) {
      for (const listener of secure) listener.setTls(tls)
    },
    close: () => listening.disposeAsync(),
  }
}
