import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Check } from './check.ts'
import { validateCreateOptions, validateDeleteOptions, validatePatchOptions, validateTableOptions } from './request-options.ts'

test('options of requests are validated in upstream words', () => {
  const cases: [(check: Check<unknown>) => void, string[]][] = [
    [(check) => validateCreateOptions(check.with({})), []],
    [(check) => validateCreateOptions(check.with({ dryRun: ['All'], fieldManager: 'x', fieldValidation: 'Strict' })), []],
    [
      (check) => validateCreateOptions(check.with({ dryRun: ['All', 'Some'], fieldManager: 'a\nb', fieldValidation: 'Maybe' })),
      [
        'fieldManager: Invalid value: "a\\nb": invalid character U+000A (at position 1)',
        'dryRun: Unsupported value: ["All","Some"]: supported values: "All"',
        'fieldValidation: Unsupported value: "Maybe": supported values: "", "Ignore", "Strict", "Warn"',
      ],
    ],
    [(check) => validatePatchOptions(check.with({}), true), ['fieldManager: Required value: is required for apply patch']],
    [(check) => validatePatchOptions(check.with({ force: false }), false), ['force: Forbidden: may not be specified for non-apply patch']],
    [(check) => validatePatchOptions(check.with({ force: true, fieldManager: 'x' }), true), []],
    [(check) => validateDeleteOptions(check.with({ propagationPolicy: 'Orphan', gracePeriodSeconds: 0 })), []],
    [
      (check) => validateDeleteOptions(check.with({ propagationPolicy: 'Nope', orphanDependents: true })),
      [
        'propagationPolicy: Invalid value: "Nope": orphanDependents and deletionPropagation cannot be both set',
        'propagationPolicy: Unsupported value: "Nope": supported values: "Foreground", "Background", "Orphan", "nil"',
      ],
    ],
    [
      (check) =>
        validateDeleteOptions(
          check.with({ ignoreStoreReadErrorWithClusterBreakingPotential: true, dryRun: ['All'], gracePeriodSeconds: 1 }),
        ),
      [
        'ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: cannot be set together with .dryRun',
        'ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: cannot be set together with .gracePeriodSeconds',
      ],
    ],
    [(check) => validateTableOptions(check.with({ includeObject: 'Metadata' })), []],
    [
      (check) => validateTableOptions(check.with({ includeObject: 'All' })),
      [`includeObject: Invalid value: "All": must be 'Metadata', 'Object', 'None', or empty`],
    ],
  ]
  for (const [validate, errors] of cases) {
    const check = new Check()
    validate(check)
    assert.deepEqual(
      check.errors.map(({ field, body }) => `${field}: ${body}`),
      errors,
    )
  }
})
