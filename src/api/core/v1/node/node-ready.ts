import type { V1Node } from '#api/core/v1/types.gen.ts'
import { isConditionTrue } from '#api/meta/find-condition.ts'

/** Its kubelet says so, and the node lifecycle controller has not taken that back. */
export const isNodeReady = ({ status }: V1Node): boolean => isConditionTrue(status?.conditions, 'Ready')
