import { effectiveApiServerGates } from '#apiserver/effective-gates.ts'
import type { Logger } from '#base/log.ts'
import { sayGatesWithoutEffect } from '#cmd/without-effect.ts'
import { effectiveControllerGates } from '#controllers/runtime/effective-gates.ts'
import { effectiveSchedulerGates } from '#scheduler/config/feature-gates.ts'

/** Those that no component of the process asks for. */
export function sayIdleGates(given: readonly string[], logger: Logger): void {
  sayGatesWithoutEffect(given, effectiveApiServerGates.union(effectiveControllerGates).union(effectiveSchedulerGates), logger)
}
