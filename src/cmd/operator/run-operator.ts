/** A whole operator: its definitions, its webhooks, its controllers, and how it fares. */

import type { CustomResource } from '#api/declaration/define-custom-resource.ts'
import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { silentLogger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { systemRandom } from '#base/random.ts'
import type { AdmissionWebhook } from '#cmd/operator/define-webhook.ts'
import { type ServedWebhooks, type ServeWebhooksOptions, serveWebhooks } from '#cmd/operator/serve-webhooks.ts'
import { serveHealth } from '#cmd/serve-health.ts'
import { installDefinitions } from '#controllers/kit/install-definitions.ts'
import { type RunControllersOptions, runControllers } from '#controllers/runtime/run-controllers.ts'

export type OperatorOptions = Omit<RunControllersOptions, 'controllers' | 'leaderElection'> & {
  name: string
  /** Installed, or brought up to date, before the controllers start. */
  resources?: readonly CustomResource[]
  controllers?: RunControllersOptions['controllers']
  webhooks?: Pick<ServeWebhooksOptions, 'reachedBy' | 'secret' | 'host' | 'port'> & { admission?: readonly AdmissionWebhook[] }
  /** The lease is named after the operator unless said. */
  leaderElection?: Omit<NonNullable<RunControllersOptions['leaderElection']>, 'name'> & { name?: string }
  /** `/healthz`, `/livez`, `/readyz` and `/metrics`, without TLS. */
  health?: { port: number; host?: string }
}

/**
 * Runs until the signal aborts, and resolves when nothing of it is left. Webhooks are served by every replica, controllers by the
 * leader alone. Rejects when it could not start, or when leadership was lost: then the process had better end.
 */
export async function runOperator(options: OperatorOptions): Promise<void> {
  const { name, resources = [], controllers = [], webhooks, leaderElection, health, ...rest } = options
  const { client, signal, clock = systemClock, random = systemRandom, logger = silentLogger, metrics = new Metrics() } = rest
  await using opened = new AsyncDisposableStack()
  let isServing = false
  if (health !== undefined) {
    const checks = { started: () => (isServing ? undefined : 'definitions and webhooks are not in place yet') }
    const { host = '0.0.0.0', port } = health
    const listener = await serveHealth({ component: name, host, port, tls: 'none', metrics, clock, random, readyChecks: checks })
    opened.defer(() => listener.close())
  }
  const several = resources.filter(({ convert }) => convert !== undefined)
  if (several.length > 0 && webhooks === undefined) {
    throw new Error(`${several[0]?.definition.metadata.name} has several versions, which are converted by a webhook: say how it is reached`)
  }
  const served: ServedWebhooks | undefined =
    webhooks &&
    opened.use(
      await serveWebhooks({ ...webhooks, name, client, webhooks: webhooks.admission ?? [], resources: several, clock, random, logger }),
    )
  await installDefinitions(client, resources, { clock, signal, ...defined({ conversion: served ? served.conversion() : undefined }) })
  await served?.register()
  isServing = true
  const election = leaderElection && { leaderElection: { name, ...leaderElection } }
  await runControllers({ ...rest, clock, random, logger, metrics, controllers, ...election })
}
