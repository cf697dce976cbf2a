/** A process of which several may run while one works: it leads as long as it holds a lease, and tells how it is. */

import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { nodeFiles } from '#base/files.ts'
import { Lifecycle, processSignals, runUntilSignal, type Stage } from '#base/lifecycle.ts'
import type { Logger } from '#base/log.ts'
import { thisMachine, thisProcess } from '#base/machine.ts'
import type { Metrics } from '#base/metrics.ts'
import { systemRandom } from '#base/random.ts'
import type { Client } from '#client/client.ts'
import { EventRecorder } from '#client/events/event-recorder.ts'
import { LeaderElector } from '#client/leader-election/leader-elector.ts'
import { serveHealth } from '#cmd/serve-health.ts'

const seams = { clock: systemClock, random: systemRandom }

export type LedFlags = {
  leaderElect: boolean
  leaderElectLeaseDuration: number
  leaderElectRenewDeadline: number
  leaderElectRetryPeriod: number
  leaderElectResourceName: string
  leaderElectResourceNamespace: string
  bindAddress: string
  securePort: number
  tlsCertFile: string
  tlsPrivateKeyFile: string
}

/** What works while this process leads. */
export type Led = { start(signal?: AbortSignal): Promise<void>; stop(): Promise<void> }

export type RunLedOptions = {
  /** Upstream's name of the program: `kube-controller-manager`. */
  component: string
  client: Client
  led: Led
  metrics: Metrics
  logger: Logger
}

/** Runs until a signal ends it, or leadership is lost: then another instance leads, and this one must not touch anything. */
export async function runLed(flags: LedFlags, { component, client, led, metrics, logger }: RunLedOptions): Promise<void> {
  const lifecycle = new Lifecycle({ clock: systemClock, logger })
  const elector = flags.leaderElect ? electorFor(flags, client, led, metrics, logger) : undefined
  await runUntilSignal(lifecycle, processSignals, async () => {
    if (flags.securePort !== 0) await lifecycle.stage('health', (stage) => health(stage, component, flags, metrics, elector))
    await lifecycle.stage('controllers', async (stage) => {
      if (elector !== undefined) return electing(stage, elector, led)
      stage.defer(() => led.stop())
      await led.start(stage.signal)
    })
    logger.info(`${component.replace(/^kube-/, '').replaceAll('-', ' ')} is running`)
  })
}

function electorFor(flags: LedFlags, client: Client, led: Led, metrics: Metrics, logger: Logger): LeaderElector {
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
      led.start(signal).catch((error: unknown) => {
        if (!signal.aborted) logger.error('failed to start controllers', { error: String(error) })
      })
    },
  })
}

function electing(stage: Stage, elector: LeaderElector, led: Led): void {
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
  stage.defer(() => led.stop())
}

async function health(
  stage: Stage,
  component: string,
  flags: LedFlags,
  metrics: Metrics,
  elector: LeaderElector | undefined,
): Promise<void> {
  const { tlsCertFile, tlsPrivateKeyFile } = flags
  const tls =
    tlsCertFile === '' ? undefined : { cert: await nodeFiles.readText(tlsCertFile), key: await nodeFiles.readText(tlsPrivateKeyFile) }
  const checks =
    elector === undefined ? {} : { leaderElection: () => (elector.isOverdue ? 'failed election to renew leadership' : undefined) }
  const listener = await serveHealth({
    component,
    host: flags.bindAddress,
    port: flags.securePort,
    metrics,
    ...seams,
    checks,
    ...defined({ tls }),
  })
  stage.defer(() => listener.close())
}
