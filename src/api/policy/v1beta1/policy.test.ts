import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'
import type { V1PodDisruptionBudget } from '#api/policy/v1/types.gen.ts'
import { podDisruptionBudgetResource } from '#api/policy/v1beta1/pod-disruption-budget.ts'
import { podSecurityPolicyResource } from '#api/policy/v1beta1/pod-security-policy.ts'
import type { V1beta1PodSecurityPolicy, V1beta1PodSecurityPolicySpec } from '#api/policy/v1beta1/pod-security-policy-types.ts'
import type { V1beta1PodDisruptionBudget } from '#api/policy/v1beta1/types.gen.ts'
import { fromStored } from '#api/scheme.ts'
import { tryCreate, tryCreateThrough, tryRow, tryUpdate } from '#api/testing/try-kind.ts'

const label = 'pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match'
const withLabel = (operator: string): V1LabelSelector => ({ matchExpressions: [{ key: label, operator }] })

test('an empty selector of a budget selects nothing, and everything in v1', () => {
  const cases: [V1LabelSelector | undefined, V1LabelSelector | undefined, V1LabelSelector | undefined][] = [
    [undefined, undefined, undefined],
    [{}, withLabel('Exists'), {}],
    [withLabel('DoesNotExist'), {}, withLabel('DoesNotExist')],
    [{ matchLabels: { a: 'b' } }, { matchLabels: { a: 'b' } }, { matchLabels: { a: 'b' } }],
  ]
  for (const [said, kept, shown] of cases) {
    const budget = { metadata: { name: 'a', namespace: 'n' }, spec: said ? { selector: said } : {} }
    const tried = tryCreateThrough<V1beta1PodDisruptionBudget, V1PodDisruptionBudget>(podDisruptionBudgetResource, budget)
    assert.deepEqual([tried.errors, tried.object.spec.selector, tried.shown.spec.selector], [[], kept, shown])
  }
  const everything = { metadata: { name: 'a' }, spec: { selector: {} } }
  const seen = fromStored(everything, podDisruptionBudgetResource as Parameters<typeof fromStored>[1]) as V1beta1PodDisruptionBudget
  assert.deepEqual(seen.spec.selector, withLabel('DoesNotExist'))
})

const any = { rule: 'RunAsAny' }
const policy = (spec: Partial<V1beta1PodSecurityPolicySpec> = {}, annotations: Record<string, string> = {}): V1beta1PodSecurityPolicy => ({
  metadata: { name: 'a', annotations },
  spec: { seLinux: any, runAsUser: any, supplementalGroups: any, fsGroup: any, ...spec },
})

test('a security policy that says nothing of privileges stays permissive', () => {
  assert.equal(tryCreate(podSecurityPolicyResource, policy()).object.spec.allowPrivilegeEscalation, true)
  assert.equal(
    tryCreate(podSecurityPolicyResource, policy({ allowPrivilegeEscalation: false })).object.spec.allowPrivilegeEscalation,
    false,
  )
})

test('security policies are validated in the words clients know', () => {
  const sysctlRegex = '([a-z0-9]([-_a-z0-9]*[a-z0-9])?\\.)*([a-z0-9][-_a-z0-9]*)?[a-z0-9*]'
  const cases: [V1beta1PodSecurityPolicy, string[]][] = [
    [policy({ volumes: ['*', 'csi'], hostPorts: [{ min: 1, max: 2 }], allowedProcMountTypes: ['Unmasked'] }), []],
    [
      policy({ seLinux: { rule: 'x' }, runAsUser: { rule: '' }, fsGroup: {} }),
      [
        'spec.runAsUser.rule: Unsupported value: "": supported values: "MustRunAs", "MustRunAsNonRoot", "RunAsAny"',
        'spec.seLinux.rule: Unsupported value: "x": supported values: "MustRunAs", "RunAsAny"',
        'spec.fsGroup.rule: Unsupported value: "": supported values: "MayRunAs", "MustRunAs", "RunAsAny"',
      ],
    ],
    [
      policy({ runAsUser: { rule: 'MustRunAs', ranges: [{ min: -1, max: -2 }] } }),
      [
        'spec.runAsUser.ranges[0].min: Invalid value: -1: min cannot be negative',
        'spec.runAsUser.ranges[0].max: Invalid value: -2: max cannot be negative',
        'spec.runAsUser.ranges[0].min: Invalid value: -1: min cannot be greater than max',
      ],
    ],
    [policy({ runAsGroup: { rule: 'MustRunAs' } }), ['spec.runAsGroup.ranges: Invalid value: []: must provide at least one range']],
    [
      policy({ requiredDropCapabilities: ['KILL'], defaultAddCapabilities: ['KILL'], allowedCapabilities: ['*'] }),
      [
        'requiredDropCapabilities: Invalid value: ["KILL"]: must be empty when all capabilities are allowed by a wildcard',
        'defaultAddCapabilities: Invalid value: "KILL": capability is listed in defaultAddCapabilities and requiredDropCapabilities',
      ],
    ],
    [
      policy({ defaultAllowPrivilegeEscalation: true, allowPrivilegeEscalation: false }),
      [
        'spec.defaultAllowPrivilegeEscalation: Invalid value: true: Cannot set DefaultAllowPrivilegeEscalation to true without also setting AllowPrivilegeEscalation to true',
      ],
    ],
    [
      policy({ allowedHostPaths: [{ pathPrefix: '/a/../b' }, {}, {}] }),
      [
        'spec.allowedHostPaths[0]: Invalid value: "/a/../b": must not contain \'..\'',
        'spec.allowedHostPaths[1]: Required value: is required',
      ],
    ],
    [
      policy({ allowedFlexVolumes: [{ driver: '' }] }),
      ['spec.allowedFlexVolumes.allowedFlexVolumes[0].driver: Required value: must specify a driver'],
    ],
    [
      policy({ allowedUnsafeSysctls: ['net.*', '', 'A'], forbiddenSysctls: ['net.core.x'] }),
      [
        'spec.allowedUnsafeSysctls[1]: Invalid value: "": empty sysctl not allowed',
        `spec.allowedUnsafeSysctls[2]: Invalid value: "A": must have at most 253 characters and match regex ${sysctlRegex}`,
        'spec.forbiddenSysctls[0]: Invalid value: "net.core.x": sysctl overlaps with net.*',
      ],
    ],
    [
      policy({ allowedUnsafeSysctls: ['*', 'a'] }),
      ["spec.allowedUnsafeSysctls.items: Forbidden: if '*' is present, must not specify other sysctls"],
    ],
    [
      policy({ runtimeClass: { allowedRuntimeClassNames: ['a', 'a'], defaultRuntimeClassName: 'b' } }),
      [
        'spec.runtimeClass.allowedRuntimeClassNames[1]: Duplicate value: "a"',
        'spec.runtimeClass.allowedRuntimeClassNames: Required value: default "b" must be allowed',
      ],
    ],
    [
      policy({}, { 'apparmor.security.beta.kubernetes.io/allowedProfileNames': 'runtime/default,nope' }),
      [
        'metadata.annotations[apparmor.security.beta.kubernetes.io/allowedProfileNames]: Invalid value: "runtime/default,nope": invalid AppArmor profile name: "nope"',
      ],
    ],
    [policy({}, { 'seccomp.security.alpha.kubernetes.io/allowedProfileNames': '*,runtime/default' }), []],
  ]
  for (const [given, errors] of cases) assert.deepEqual(tryCreate(podSecurityPolicyResource, given).errors, errors)
  const [broken] = cases[1] ?? []
  assert.equal(tryUpdate(podSecurityPolicyResource, policy(), broken ?? policy()).errors.length, 3)
  assert.match(
    tryCreate(podSecurityPolicyResource, policy({ volumes: ['disk'] })).errors[0] ?? '',
    /^spec\.volumes: Unsupported value: "disk": supported values: "\*", "awsElasticBlockStore"/,
  )
})

test('a row of a security policy tells what it allows', () => {
  const row = tryRow(podSecurityPolicyResource, policy({ privileged: true, allowedCapabilities: ['A', 'B'], volumes: ['*'] }))
  assert.deepEqual(
    [row['Priv'], row['Caps'], row['SELinux'], row['ReadOnlyRootFs'], row['Volumes']],
    ['true', 'A,B', 'RunAsAny', false, '*'],
  )
})

test('sysctls that all overlap with each other are not looked for pair by pair', () => {
  const names = Array.from({ length: 20_000 }, (_, index) => `net.n${index}`)
  const { errors } = tryCreate(
    podSecurityPolicyResource,
    policy({ allowedUnsafeSysctls: names.map(() => 'net.*'), forbiddenSysctls: names }),
  )
  assert.equal(errors[0], 'spec.forbiddenSysctls[0]: Invalid value: "net.n0": sysctl overlaps with net.*')
})
