import { systemClock } from '#base/clock.ts'
import { defined } from '#base/defined.ts'
import { nodeFiles } from '#base/files.ts'
import type { Logger } from '#base/log.ts'
import { Metrics } from '#base/metrics.ts'
import { systemRandom } from '#base/random.ts'
import { openClient } from '#client/kubeconfig/open-client.ts'
import type { ControllerManagerFlags } from '#cmd/controller-manager/flags.ts'
import { runManagerStorage } from '#cmd/controller-manager/manager-storage.ts'
import { runManagerVerticalAutoscaler } from '#cmd/controller-manager/manager-vertical-autoscaler.ts'
import { serviceAccountToken } from '#cmd/controller-manager/service-account-token.ts'
import { settingsOf } from '#cmd/controller-manager/settings.ts'
import { type Led, runLed } from '#cmd/run-led.ts'
import { kubernetesVersion } from '#cmd/version.ts'
import { sayGatesWithoutEffect } from '#cmd/without-effect.ts'
import { controllers } from '#controllers/controllers.ts'
import { ControllerManager } from '#controllers/runtime/controller-manager.ts'
import { effectiveControllerGates } from '#controllers/runtime/effective-gates.ts'
import { selectControllers } from '#controllers/runtime/select-controllers.ts'

const seams = { clock: systemClock, random: systemRandom }

/** Runs until a signal ends it, or leadership is lost: then another instance leads, and this one must not touch anything. */
export async function runControllerManager(flags: ControllerManagerFlags, logger: Logger): Promise<void> {
  sayGatesWithoutEffect(flags.featureGates, effectiveControllerGates, logger)
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
  const asAccount = async (account: string) => client.as(serviceAccountToken(account, client, systemClock))
  const acting = { client, ...defined({ clientFor: flags.useServiceAccountCredentials ? asAccount : undefined }), ...seams, logger }
  const hasStorage = flags.storage && selected.some(({ alias }) => alias === 'persistentvolume-binder')
  const manager = managed(new ControllerManager({ ...acting, controllers: selected, metrics, settings }), async (signal) => {
    await Promise.all([
      hasStorage && runManagerStorage({ ...acting, signal }),
      flags.verticalPodAutoscaler && runManagerVerticalAutoscaler({ ...acting, signal }),
    ])
  })
  await runLed(flags, { component: 'kube-controller-manager', client, led: manager, metrics, logger })
}

/** The controllers, and beside them what ends when they do. */
function managed(manager: ControllerManager, runBeside: (signal: AbortSignal) => Promise<void>): Led {
  const stopped = new AbortController()
  let beside: Promise<void> | undefined
  return {
    async start(signal) {
      beside = runBeside(signal === undefined ? stopped.signal : AbortSignal.any([signal, stopped.signal]))
      await manager.start(signal)
    },
    async stop() {
      stopped.abort()
      await Promise.all([manager.stop(), beside])
    },
  }
}
