import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { nodeFiles } from '#base/files.ts'
import { Lifecycle, processSignals, runUntilSignal, type Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import { Metrics } from '#base/metrics.ts'
import { systemRandom } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import { LeaderElector } from '#client/leader-election/leader-elector.ts'
import type { ControllerManagerFlags } from '#cmd/controller-manager/flags.ts'
import { serviceAccountToken } from '#cmd/controller-manager/service-account-token.ts'
import { settingsOf } from '#cmd/controller-manager/settings.ts'
import { serveHealth } from '#cmd/serve-health.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { controllers } from '#controllers/controllers.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import { selectControllers } from '#controllers/runtime/select-controllers.ts'

const seams = { clock: systemClock, random: systemRandom }

/** Runs until a signal ends it, or leadership is lost: then another instance leads, and this one must not touch anything. */
export async function runControllerManager(flags: ControllerManagerFlags, logger: Logger): Promise<void> {
  const metrics = new Metrics()
  const selected = selectControllers(controllers, flags.controllers).filter(
    ({ alias }) => flags.enableGarbageCollector || alias !== 'garbagecollector',
  )
  const settings = await settingsOf(flags, nodeFiles)
  using client = await openClient({
    kubeconfig: flags.kubeconfig,
    server: flags.master,
    userAgent: `kube-controller-manager/${kubernetesVersion}`,
  })
  const manager = new ControllerManager({
    controllers: selected,
    client,
    ...(flags.useServiceAccountCredentials
      ? { clientFor: async (account: string) => client.as(serviceAccountToken(account, client, systemClock)) }
      : {}),
    ...seams,
    logger,
    metrics,
    settings,
  })
  const lifecycle = new Lifecycle({ clock: systemClock, logger })
  const elector = flags.leaderElect ? electorFor(flags, client, manager, metrics, logger) : undefined
  await runUntilSignal(lifecycle, processSignals, async () => {
    if (flags.securePort !== 0) await lifecycle.stage('health', (stage) => health(stage, flags, metrics, elector))
    await lifecycle.stage('controllers', async (stage) => {
      if (elector !== undefined) return electing(stage, elector, manager)
      stage.defer(() => manager.stop())
      await manager.start(stage.signal)
    })
    logger.info('controller manager is running')
  })
}

function electorFor(flags: ControllerManagerFlags, client: Client, manager: ControllerManager, metrics: Metrics, logger: Logger) {
  const name = flags.leaderElectResourceName
  const status = metrics.gauge('leader_election_master_status', 'Whether this process leads, by the name of the lease')
  status.set(0, { name })
  const identity = `${thisMachine().hostname}_${systemRandom.uuid()}`
  return new LeaderElector({
    client,
    ...seams,
    logger,
    namespace: flags.leaderElectResourceNamespace,
    name,
    identity,
    events: new EventRecorder({ client, clock: systemClock, logger, component: identity }),
    leaseDurationMs: flags.leaderElectLeaseDuration,
    renewDeadlineMs: flags.leaderElectRenewDeadline,
    retryPeriodMs: flags.leaderElectRetryPeriod,
    lead(signal) {
      status.set(1, { name })
      signal.addEventListener('abort', () => status.set(0, { name }))
      manager.start(signal).catch((error: unknown) => {
        if (!signal.aborted) logger.error('failed to start controllers', { error: String(error) })
      })
    },
  })
}

function electing(stage: Stage, elector: LeaderElector, manager: ControllerManager): void {
  const abort = new AbortController()
  const running = elector.run(abort.signal).then(() => {
    if (abort.signal.aborted) return
    // What was decided while we led may be half done elsewhere by now: begin anew, as upstream does.
    thisProcess.complain('leaderelection lost')
    thisProcess.exit(1)
  })
  stage.defer(async () => {
    abort.abort()
    await running
  })
  // Comes first at the end: the lease is given back only when nothing is written any more.
  stage.defer(() => manager.stop())
}

async function health(stage: Stage, flags: ControllerManagerFlags, metrics: Metrics, elector: LeaderElector | undefined): Promise<void> {
  const { tlsCertFile, tlsPrivateKeyFile } = flags
  const tls =
    tlsCertFile === '' ? undefined : { cert: await nodeFiles.readText(tlsCertFile), key: await nodeFiles.readText(tlsPrivateKeyFile) }
  const checks =
    elector === undefined ? {} : { leaderElection: () => (elector.isOverdue ? 'failed election to renew leadership' : undefined) }
  const listener = await serveHealth({
    component: 'kube-controller-manager',
    host: flags.bindAddress,
    port: flags.securePort,
    metrics,
    ...seams,
    checks,
    ...defined({ tls }),
  })
  stage.defer(() => listener.close())
}
