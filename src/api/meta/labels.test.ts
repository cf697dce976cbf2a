import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Condition, V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import { Check } from './check.ts'
import { validateConditions } from './conditions.ts'
import { hasInvalidLabelValue, type LabelSelectorOptions, validateFieldSelectorRequirement, validateLabelSelector } from './labels.ts'

const name =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
const value =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"

function errorsOf(validate: (check: Check<unknown>) => void): string[] {
  const check = new Check(undefined, 'spec.selector')
  validate(check)
  return check.errors.map(({ field, body }) => `${field}: ${body}`)
}

test('a label selector is validated labels first, then expression by expression', () => {
  const cases: [V1LabelSelector | undefined, LabelSelectorOptions, string[]][] = [
    [undefined, {}, []],
    [{}, {}, []],
    [{ matchLabels: { a: 'b' }, matchExpressions: [{ key: 'a', operator: 'In', values: ['b', ''] }] }, {}, []],
    [
      { matchLabels: { 'a b': 'c d' }, matchExpressions: [{ key: 'x', operator: 'In' }] },
      {},
      [
        `spec.selector.matchLabels: Invalid value: "a b": ${name}`,
        `spec.selector.matchLabels: Invalid value: "c d": ${value}`,
        "spec.selector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
      ],
    ],
    [
      {
        matchExpressions: [
          { key: 'x', operator: 'Exists', values: ['a'] },
          { key: '-', operator: 'Nope', values: ['b', 'c d'] },
        ],
      },
      {},
      [
        "spec.selector.matchExpressions[0].values: Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
        'spec.selector.matchExpressions[1].operator: Invalid value: "Nope": not a valid selector operator',
        `spec.selector.matchExpressions[1].key: Invalid value: "-": ${name}`,
        `spec.selector.matchExpressions[1].values[1]: Invalid value: "c d": ${value}`,
      ],
    ],
    [
      { matchExpressions: [{ key: 'x', operator: 'Nope', values: ['c d'] }] },
      { allowInvalidValues: true, allowUnknownOperators: true },
      [],
    ],
  ]
  for (const [selector, options, errors] of cases) {
    assert.deepEqual(
      errorsOf((check) => validateLabelSelector(check.with(selector), options)),
      errors,
    )
  }
})

test('stored selectors with bad values are recognized', () => {
  assert.equal(hasInvalidLabelValue(undefined), false)
  assert.equal(hasInvalidLabelValue({ matchExpressions: [{ key: 'a', operator: 'In', values: ['ok'] }] }), false)
  assert.equal(hasInvalidLabelValue({ matchExpressions: [{ key: 'a', operator: 'In', values: ['not ok'] }] }), true)
})

test('a field requirement needs a key and the values its operator takes', () => {
  const validate = (key: string, operator: string, values: string[], allowUnknownOperators = false) =>
    errorsOf((check) => validateFieldSelectorRequirement(check.with({ key, operator, values }), { allowUnknownOperators }))
  assert.deepEqual(validate('metadata.name', 'In', ['a']), [])
  assert.deepEqual(validate('', 'In', []), [
    'spec.selector.key: Required value: must be specified',
    "spec.selector.values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
  ])
  assert.deepEqual(validate('a', 'Gt', []), ['spec.selector.operator: Invalid value: "Gt": not a valid selector operator'])
  assert.deepEqual(validate('a', 'Gt', [], true), [])
})

test('conditions need a type, a status, a time and a reason', () => {
  const good: V1Condition = { type: 'Ready', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z', reason: 'Fine', message: '' }
  const reason =
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')"
  const cases: [V1Condition[], string[]][] = [
    [[good], []],
    [[good, good], ['spec.selector[1].type: Duplicate value: "Ready"']],
    [
      [{ ...good, type: ' ', status: 'Maybe', observedGeneration: -1, lastTransitionTime: '', reason: '' }],
      [
        `spec.selector[0].type: Invalid value: " ": ${name}`,
        'spec.selector[0].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
        'spec.selector[0].observedGeneration: Invalid value: -1: must be greater than or equal to zero',
        'spec.selector[0].lastTransitionTime: Required value',
        'spec.selector[0].reason: Required value',
      ],
    ],
    [[{ ...good, reason: 'no good' }], [`spec.selector[0].reason: Invalid value: "no good": ${reason}`]],
    [
      [{ ...good, reason: 'a'.repeat(1025), message: 'm'.repeat(32769) }],
      [
        'spec.selector[0].reason: Too long: may not be more than 1024 bytes',
        'spec.selector[0].message: Too long: may not be more than 32768 bytes',
      ],
    ],
  ]
  for (const [conditions, errors] of cases) {
    assert.deepEqual(
      errorsOf((check) => validateConditions(check.with(conditions))),
      errors,
    )
  }
})
