import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import type { OptionValues } from '#base/options.ts'
import { systemRandom } from '#base/random.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import type { deschedulerOptions } from '#cmd/descheduler/command.ts'
import { runLed } from '#cmd/run-led.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { descheduler } from '#controllers/descheduler/descheduler.ts'
import { parsePolicy } from '#controllers/descheduler/policy.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import { defaultSettings } from '#controllers/runtime/settings.ts'

const component = 'descheduler'
/** Of a program that ends after the first round: never. */
const farAwayMs = 86_400_000

/** Once, or until a signal ends it. */
export async function runDescheduler(flags: OptionValues<typeof deschedulerOptions>, logger: Logger): Promise<void> {
  const { policyConfigFile: path, deschedulingInterval, dryRun: isDryRun } = flags
  if (path === '') throw new Error('deschedulerPolicy is nil: --policy-config-file names no file')
  const policy = parsePolicy(await nodeFiles.readText(path), path)
  const metrics = new Metrics()
  using client = await openClient({
    kubeconfig: flags.clientConnectionKubeconfig || flags.kubeconfig,
    userAgent: `${component}/${kubernetesVersion}`,
  })
  const first = Promise.withResolvers<void>()
  const intervalMs = deschedulingInterval || farAwayMs
  const controllers = [descheduler({ policy, isDryRun, intervalMs, metrics, onRound: first.resolve })]
  const seams = { clock: systemClock, random: systemRandom, logger }
  const manager = new ControllerManager({ controllers, client, ...seams, metrics, settings: defaultSettings })
  if (deschedulingInterval === 0) {
    if (flags.leaderElect) throw new Error('leaderElection must be used with deschedulingInterval')
    await manager.start()
    await first.promise
    await manager.stop()
    return
  }
  await runLed({ ...flags, securePort: flags.disableMetrics ? 0 : flags.securePort }, { component, client, led: manager, metrics, logger })
}
