import type { FieldPlan, MessagePlan, ValuePlan } from './plan.ts'

/** What Go would write for a value that was never set. */
export function zeroValue(plan: ValuePlan): unknown {
  if (plan.schema.pointer) return null
  switch (plan.kind) {
    case 'string':
    case 'bytes':
      return ''
    case 'bool':
    case 'schemaOrBool':
      return false
    case 'int32':
    case 'int64':
    case 'uint64':
    case 'double':
    case 'intOrString':
      return 0
    case 'quantity':
      return '0'
    case 'duration':
      return '0s'
    case 'message':
      return zeroMessage(plan.message)
    default:
      return null
  }
}

export function zeroField(field: FieldPlan): unknown {
  if (field.schema.nullable) return null
  if (field.value.kind === 'list') return []
  if (field.value.kind === 'map') return {}
  return zeroValue(field.value)
}

function zeroMessage(plan: MessagePlan): Record<string, unknown> {
  const object: Record<string, unknown> = {}
  for (const field of plan.always) object[field.name] = zeroField(field)
  return object
}
