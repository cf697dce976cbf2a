/** Validates the conditions of kinds that use the shared Condition type. */
import type { V1Condition } from '#api/meta/v1/types.gen.ts'
import type { Check } from './check.ts'
import { conditionReason } from './formats.ts'
import { byteLength, mustBe, qualifiedName } from './names.ts'

const statuses = ['False', 'True', 'Unknown']
const reasonMaxBytes = 1024
const messageMaxBytes = 32 * 1024

export function validateConditions(check: Check<readonly V1Condition[] | undefined>): void {
  const seen = new Set<string>()
  for (const at of check.items()) {
    const condition = at.value
    if (seen.has(condition.type)) at.at('type').duplicate()
    seen.add(condition.type)
    validateCondition(at.present)
  }
}

function validateCondition(check: Check<V1Condition>): void {
  const condition = check.value
  const { status = '', observedGeneration = 0, lastTransitionTime, reason = '', message = '' } = condition
  mustBe(qualifiedName, check.at('type').or(''))
  if (!statuses.includes(status)) check.at('status').or('').notSupported(statuses)
  if (observedGeneration < 0) check.at('observedGeneration').or(0).invalid('must be greater than or equal to zero')
  if (!lastTransitionTime) check.at('lastTransitionTime').required()
  if (reason === '') check.at('reason').required()
  else {
    mustBe(conditionReason, check.at('reason').or(''))
    if (byteLength(reason) > reasonMaxBytes) check.at('reason').tooLong(reasonMaxBytes)
  }
  if (byteLength(message) > messageMaxBytes) check.at('message').tooLong(messageMaxBytes)
}
