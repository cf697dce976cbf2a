import { effectiveApiServerGates } from '#apiserver/effective-gates.ts'
import type { Logger } from '#base/log.ts'
import { sayGatesWithoutEffect } from '#cmd/without-effect.ts'
import { effectiveControllerGates } from '#controllers/runtime/effective-gates.ts'
import { effectiveKubeletGates } from '#kubelet/configuration/kubelet-configuration.ts'
import { effectiveSchedulerGates } from '#scheduler/config/feature-gates.ts'

/** Those that no component of the process asks for. */
export function sayIdleGates(given: readonly string[], logger: Logger): void {
  const controlPlane = effectiveApiServerGates.union(effectiveControllerGates).union(effectiveSchedulerGates)
  sayGatesWithoutEffect(given, controlPlane.union(effectiveKubeletGates), logger)
}
