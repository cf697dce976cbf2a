/** What every component asks of a pod's status. */
import type { V1Pod, V1PodStatus } from '#api/core/v1/types.gen.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'

export type TerminalPhase = 'Succeeded' | 'Failed'

/** Its containers will never run again. */
export const isTerminalPhase = (phase: string | undefined): phase is TerminalPhase => phase === 'Succeeded' || phase === 'Failed'

export const isPodFinished = ({ status }: { readonly status?: V1PodStatus }): boolean => isTerminalPhase(status?.phase)

export const isPodReady = ({ status }: V1Pod): boolean => isConditionTrue(status?.conditions, 'Ready')
