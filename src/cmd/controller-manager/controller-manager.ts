import { ServiceAccount } from '#api/core/v1/service-account.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { parseTime } from '#api/meta/time.ts'
import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { type HttpClientOptions, nodeHttpClient } from '#base/http-client.ts'
import { Lifecycle, processSignals, runUntilSignal } from '#base/lifecycle.ts'
import type { Logger, LogLevel } from '#base/log.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { pinoLogger } from '#base/pino-logger.ts'
import { nodeProcesses } from '#base/processes.ts'
import { systemRandom } from '#base/random.ts'
import { Client } from '#client/client.ts'
import { type ConnectSeams, connect, connectInCluster } from '#client/kubeconfig/connect.ts'
import { Kubeconfig, type KubeconfigContext } from '#client/kubeconfig/kubeconfig.ts'
import { LeaderElector } from '#client/leader-election/leader-elector.ts'
import type { ControllerManagerFlags } from '#cmd/controller-manager/command.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { controllers } from '#controllers/controllers.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import { selectControllers } from '#controllers/runtime/select-controllers.ts'
import { type ControllerSettings, defaultSettings } from '#controllers/runtime/settings.ts'

const seams: ConnectSeams = {
  files: nodeFiles,
  processes: nodeProcesses,
  clock: systemClock,
  http: (options: HttpClientOptions) => nodeHttpClient(options),
}

/** Runs until a signal ends it, or leadership is lost: then another instance leads, and this one must not touch anything. */
export async function runControllerManager(flags: ControllerManagerFlags): Promise<void> {
  const logger = pinoLogger({ level: flags.logLevel as LogLevel })
  const userAgent = `kube-controller-manager/${kubernetesVersion}`
  const context = flags.kubeconfig === '' ? undefined : await (await Kubeconfig.read(nodeFiles, flags.kubeconfig)).context()
  const transport = context === undefined ? await connectInCluster(thisProcess.environment, seams) : await connect(context, seams)
  if (transport === undefined) throw new Error('there is no API server to talk to; name one with --kubeconfig')
  const client = new Client({ transport, userAgent })
  const settings = await settingsOf(flags)
  const manager = () =>
    new ControllerManager({
      controllers: selectControllers(controllers, flags.controllers),
      client,
      ...(flags.useServiceAccountCredentials && context ? { clientFor: (account) => clientAs(account, client, context, userAgent) } : {}),
      clock: systemClock,
      random: systemRandom,
      logger,
      settings,
    })
  const lifecycle = new Lifecycle({ clock: systemClock, logger })
  lifecycle.add(flags.leaderElect ? electing(flags, client, manager, logger) : plain(manager))
  await runUntilSignal(lifecycle, processSignals, () => logger.info('the controllers are running'))
}

function plain(make: () => ControllerManager) {
  const manager = make()
  return { name: 'controllers', start: () => manager.start(), stop: () => manager.stop() }
}

function electing(flags: ControllerManagerFlags, client: Client, make: () => ControllerManager, logger: Logger) {
  const abort = new AbortController()
  let manager: ControllerManager | undefined
  let running: Promise<void> | undefined
  const elector = new LeaderElector({
    client,
    clock: systemClock,
    random: systemRandom,
    logger,
    namespace: flags.leaderElectResourceNamespace,
    name: flags.leaderElectResourceName,
    identity: `${thisMachine().hostname}_${systemRandom.uuid()}`,
    leaseDurationMs: flags.leaderElectLeaseDuration,
    renewDeadlineMs: flags.leaderElectRenewDeadline,
    retryPeriodMs: flags.leaderElectRetryPeriod,
    lead(signal) {
      manager = make()
      manager.start().catch((error: unknown) => logger.error('the controllers could not be started', { error: String(error) }))
      signal.addEventListener('abort', () => void manager?.stop())
    },
  })
  return {
    name: 'controllers',
    async start() {
      running = elector.run(abort.signal).then(() => {
        if (abort.signal.aborted) return
        thisProcess.complain('typernetes: leadership was lost')
        thisProcess.exit(1)
      })
    },
    async stop() {
      await manager?.stop()
      abort.abort()
      await running
    },
  }
}

async function settingsOf(flags: ControllerManagerFlags): Promise<ControllerSettings> {
  const gates = new FeatureGates(flags.featureGates.join(','))
  return {
    ...defaultSettings,
    rootCa: flags.rootCaFile === '' ? '' : await nodeFiles.readText(flags.rootCaFile),
    allocateNodeCidrs: flags.allocateNodeCidrs,
    clusterCidrs: flags.clusterCidr,
    serviceCidrs: flags.serviceClusterIpRange,
    nodeCidrMaskSizeIpv4: flags.nodeCidrMaskSizeIpv4,
    nodeCidrMaskSizeIpv6: flags.nodeCidrMaskSizeIpv6,
    nodeMonitorPeriodMs: flags.nodeMonitorPeriod,
    nodeMonitorGraceMs: flags.nodeMonitorGracePeriod,
    nodeStartupGraceMs: flags.nodeStartupGracePeriod,
    largeClusterSizeThreshold: flags.largeClusterSizeThreshold,
    terminatedPodGcThreshold: flags.terminatedPodGcThreshold,
    maxEndpointsPerSlice: flags.maxEndpointsPerSlice,
    isEnabled: (gate) => gates.isEnabled(gate),
  }
}

type TokenRequest = { status?: { token: string; expirationTimestamp: string } }

/** A client with tokens of the service account, asked for anew before they expire. */
async function clientAs(
  account: string,
  client: Client,
  { cluster, name, namespace }: KubeconfigContext,
  userAgent: string,
): Promise<Client> {
  let current: { token: string; renewMs: number } | undefined
  const token = async () => {
    if (current === undefined || systemClock.now() > current.renewMs) {
      const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } }
      const place = { namespace: 'kube-system', name: account }
      const { status } = await client.subresource<TokenRequest>('POST', ServiceAccount as never, place, 'token', body)
      if (status === undefined) throw new Error(`no token was given for the service account ${account}`)
      const expiresMs = parseTime(status.expirationTimestamp)
      current = { token: status.token, renewMs: systemClock.now() + (expiresMs - systemClock.now()) * 0.8 }
    }
    return current.token
  }
  const transport = await connect({ name, namespace, cluster, user: {} }, seams)
  return new Client({
    transport: {
      send: async (request) => transport.send({ ...request, headers: { ...request.headers, authorization: `Bearer ${await token()}` } }),
    },
    userAgent,
  })
}
