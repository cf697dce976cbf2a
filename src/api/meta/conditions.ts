/** Judges the conditions of kinds that use the shared Condition type. */
import type { V1Condition } from '#api/meta/v1/types.gen.ts'
import type { Check } from './check.ts'
import { conditionReason } from './formats.ts'
import { byteLength, mustBe, qualifiedName } from './names.ts'

const statuses = ['False', 'True', 'Unknown']
const reasonMaxBytes = 1024
const messageMaxBytes = 32 * 1024

export function validateConditions(conditions: readonly V1Condition[] | undefined, check: Check): void {
  const seen = new Set<string>()
  for (const [index, condition] of (conditions ?? []).entries()) {
    const at = check.at(index)
    if (seen.has(condition.type)) at.at('type').duplicate(condition.type)
    seen.add(condition.type)
    validateCondition(condition, at)
  }
}

function validateCondition(condition: V1Condition, check: Check): void {
  const { type = '', status = '', observedGeneration = 0, lastTransitionTime, reason = '', message = '' } = condition
  mustBe(qualifiedName, type, check.at('type'))
  if (!statuses.includes(status)) check.at('status').notSupported(status, statuses)
  if (observedGeneration < 0) check.at('observedGeneration').invalid(observedGeneration, 'must be greater than or equal to zero')
  if (!lastTransitionTime) check.at('lastTransitionTime').required()
  if (reason === '') check.at('reason').required()
  else {
    mustBe(conditionReason, reason, check.at('reason'))
    if (byteLength(reason) > reasonMaxBytes) check.at('reason').tooLong(reasonMaxBytes)
  }
  if (byteLength(message) > messageMaxBytes) check.at('message').tooLong(messageMaxBytes)
}
