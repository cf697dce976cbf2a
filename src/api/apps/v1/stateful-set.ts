import { intOrPercentValue, mustBePositiveIntOrPercent, mustNotExceed100Percent } from '#api/apps/v1/int-or-percent.ts'
import { StatefulSet } from '#api/apps/v1/kinds.gen.ts'
import type {
  V1RollingUpdateStatefulSetStrategy,
  V1StatefulSet,
  V1StatefulSetPersistentVolumeClaimRetentionPolicy,
  V1StatefulSetSpec,
  V1StatefulSetStatus,
  V1StatefulSetUpdateStrategy,
} from '#api/apps/v1/types.gen.ts'
import { containersColumn, imagesColumn } from '#api/apps/v1/workload-columns.ts'
import { mustNotBeDecremented, mustNotExceedReplicas } from '#api/apps/v1/workload-status.ts'
import { mustRunForever, mustSelectTemplate, scaleOfReplicas, validateRequiredSelector } from '#api/apps/v1/workload-template.ts'
import { optionsForNewClaim, validateClaimSpec } from '#api/core/v1/persistent-volume-claim/claim-spec.ts'
import { claimSpecWarnings } from '#api/core/v1/persistent-volume-claim/claim-warnings.ts'
import { defaultClaimSpec } from '#api/core/v1/pod-spec/default-volume.ts'
import { defaultPodTemplate } from '#api/core/v1/pod-spec/defaults.ts'
import { dropDisabledFields } from '#api/core/v1/pod-spec/drop-disabled.ts'
import { validatePodAnnotations } from '#api/core/v1/pod-spec/validate-annotations.ts'
import { type PodValidationOptions, podValidationOptions, validatePodTemplate } from '#api/core/v1/pod-spec/validate-pod-template.ts'
import { podTemplateWarnings } from '#api/core/v1/pod-spec/warnings.ts'
import type { V1PodTemplateSpec, V1Volume } from '#api/core/v1/types.gen.ts'
import { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { nonNegative } from '#api/meta/formats.ts'
import { validateAnnotations, validateLabels } from '#api/meta/labels.ts'
import { dns1123Label, mustBe, nameIsDns1123Label } from '#api/meta/names.ts'
import { validateObjectMetaUpdate } from '#api/meta/object-meta.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { defineResource, type RuleContext } from '#api/resource.ts'
import { defined } from '#base/defined.ts'

const sameSpec = equalityOf(StatefulSet).at('spec')

export const statefulSetResource = defineResource(StatefulSet, {
  nameRule: nameIsDns1123Label,
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',

  defaults(statefulSet) {
    statefulSet.spec ??= {} as V1StatefulSetSpec
    const { spec } = statefulSet
    spec.template ??= { spec: { containers: [] } }
    defaultPodTemplate(spec.template)
    for (const claim of spec.volumeClaimTemplates ?? []) {
      claim.spec ??= {}
      defaultClaimSpec(claim.spec)
      claim.status ??= {}
      claim.status.phase ||= 'Pending'
      claim.apiVersion = 'v1'
      claim.kind = 'PersistentVolumeClaim'
    }
    spec.podManagementPolicy ||= 'OrderedReady'
    spec.updateStrategy ??= {}
    defaultUpdateStrategy(spec.updateStrategy)
    spec.persistentVolumeClaimRetentionPolicy ??= {}
    spec.persistentVolumeClaimRetentionPolicy.whenDeleted ||= 'Retain'
    spec.persistentVolumeClaimRetentionPolicy.whenScaled ||= 'Retain'
    spec.replicas ??= 1
    spec.revisionHistoryLimit ??= 10
  },

  prepareForCreate(statefulSet, context) {
    settleMaxUnavailable(statefulSet, undefined, context)
    dropDisabledFields(statefulSet.spec.template, undefined, context)
  },
  validate: ({ spec }, check, context) =>
    validateSpec(check.at('spec'), podValidationOptions(spec.template, undefined, context), { isUpdate: false }),
  warningsOnCreate: ({ spec }) => [
    ...podTemplateWarnings(spec.template, undefined, 'spec.template'),
    ...specWarnings(spec, (index) => `spec.volumeClaimTemplates[${index}]`),
  ],

  generation: 'spec',
  prepareForUpdate(next, prev, context) {
    settleMaxUnavailable(next, prev, context)
    dropDisabledFields(next.spec.template, prev.spec.template, context)
  },
  validateUpdate(next, prev, check, context) {
    const options = podValidationOptions(next.spec.template, prev.spec.template, context)
    const wasWrong = new Check(prev.spec)
    validateSpec(wasWrong, options, { isUpdate: true })
    validateSpec(check.at('spec'), options, { isUpdate: true, skipPodTemplate: wasWrong.failed })
    if (!sameSpec(frozenPart(next.spec), frozenPart(prev.spec))) {
      check
        .at('spec')
        .forbidden(
          "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        )
    }
  },
  warningsOnUpdate(next, prev) {
    const changed = next.metadata.generation !== prev.metadata.generation
    return [
      ...(changed ? podTemplateWarnings(next.spec.template, prev.spec.template, 'spec.template') : []),
      // Upstream's path has a capital letter here, and clients may match on it.
      ...specWarnings(next.spec, (index) => `spec.volumeClaimTemplates[${index}].Spec`),
    ]
  },

  subresources: {
    status: {
      revalidatesMetadata: false,
      validateUpdate(_next, prev, check) {
        validateStatus(check.at('status').or({ replicas: 0 }))
        validateObjectMetaUpdate(check.at('metadata'), prev.metadata)
        mustNotBeDecremented(check.at('status').at('collisionCount'), prev.status?.collisionCount)
      },
    },
    scale: scaleOfReplicas,
  },

  columns: [
    nameColumn,
    {
      name: 'Ready',
      type: 'string',
      description: 'Number of the pod with ready state',
      cell: ({ spec, status }) => `${status?.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
    },
    ageColumn,
    containersColumn(({ spec }) => spec.template.spec),
    imagesColumn(({ spec }) => spec.template.spec),
  ],
})

function defaultUpdateStrategy(strategy: V1StatefulSetUpdateStrategy): void {
  if (!strategy.type) {
    strategy.type = 'RollingUpdate'
    strategy.rollingUpdate ??= {}
  }
  if (strategy.type === 'RollingUpdate' && strategy.rollingUpdate) strategy.rollingUpdate.partition ??= 0
}

/** Defaults cannot see feature gates, so that this one waits until here. */
function settleMaxUnavailable(next: V1StatefulSet, prev: V1StatefulSet | undefined, { isEnabled }: RuleContext): void {
  const strategy = next.spec.updateStrategy
  if (!strategy?.rollingUpdate) return
  if (isEnabled('MaxUnavailableStatefulSet')) {
    if (strategy.type === 'RollingUpdate') strategy.rollingUpdate.maxUnavailable ??= 1
  } else if (prev?.spec.updateStrategy?.rollingUpdate?.maxUnavailable === undefined) delete strategy.rollingUpdate.maxUnavailable
}

type SpecRules = { isUpdate: boolean; skipPodTemplate?: boolean }

function validateSpec(check: Check<V1StatefulSetSpec>, options: PodValidationOptions, rules: SpecRules): void {
  const spec = check.value
  const policy = spec.podManagementPolicy
  if (!policy) check.at('podManagementPolicy').required()
  else if (policy !== 'OrderedReady' && policy !== 'Parallel') {
    check.at('podManagementPolicy').invalid("must be 'OrderedReady' or 'Parallel'")
  }
  validateUpdateStrategy(check.at('updateStrategy').or({}))
  validateRetentionPolicy(check.at('persistentVolumeClaimRetentionPolicy'))
  // What cannot change is validated once: claims and service names of old objects may be of a kind no longer allowed.
  if (!rules.isUpdate) {
    spec.volumeClaimTemplates?.forEach((_claim, index) => {
      validateClaimSpec(check.at('volumeClaimTemplates').at(index).at('spec').or({}), optionsForNewClaim)
    })
  }
  nonNegative(check.at('replicas'))
  nonNegative(check.at('minReadySeconds'))
  nonNegative(check.at('ordinals').at('start'))
  if (!rules.isUpdate && spec.serviceName) mustBe(dns1123Label, check.at('serviceName').present)

  const selector = validateRequiredSelector(check.at('selector'), 'statefulset', '')
  if (selector) {
    const template = templateAsRun(spec)
    mustSelectTemplate(selector, check.at('template').with(template))
    if (!rules.skipPodTemplate) validatePodTemplate(check.at('template').with(template), options)
    revalidateTemplateMetadata(template, check.at('template'), options)
  }
  mustRunForever(check.at('template'), 'StatefulSet')
}

function validateUpdateStrategy(check: Check<V1StatefulSetUpdateStrategy>): void {
  const strategy = check.value
  const { type, rollingUpdate } = strategy
  if (!type) check.required()
  else if (type === 'OnDelete') {
    if (!rollingUpdate) return
    check
      .at('rollingUpdate')
      .invalid("only allowed for updateStrategy 'RollingUpdate'", asInternal('apps.RollingUpdateStatefulSetStrategy', rollingUpdate))
  } else if (type === 'RollingUpdate') {
    if (rollingUpdate) validateRollingUpdate(check.at('rollingUpdate').present)
  } else check.invalid("must be 'RollingUpdate' or 'OnDelete'", asInternal('apps.StatefulSetUpdateStrategy', strategy))
}

function validateRollingUpdate(check: Check<V1RollingUpdateStatefulSetStrategy>): void {
  const { maxUnavailable } = check.value
  nonNegative(check.at('partition'))
  if (maxUnavailable === undefined) return
  mustBePositiveIntOrPercent(check.at('maxUnavailable').present)
  if (intOrPercentValue(maxUnavailable) === 0) check.at('maxUnavailable').invalid('cannot be 0')
  mustNotExceed100Percent(check.at('maxUnavailable').present)
}

function validateRetentionPolicy(check: Check<V1StatefulSetPersistentVolumeClaimRetentionPolicy | undefined>): void {
  const policy = check.value
  if (!policy) return
  for (const field of ['whenDeleted', 'whenScaled'] as const) {
    const value = policy[field] ?? ''
    if (value !== 'Retain' && value !== 'Delete') check.at(field).or('').notSupported(['Retain', 'Delete'])
  }
}

/** Upstream looks at the labels and annotations of this kind's template twice, and reports them twice. */
function revalidateTemplateMetadata(
  { metadata, spec }: V1PodTemplateSpec,
  check: Check<V1PodTemplateSpec>,
  options: PodValidationOptions,
): void {
  validateLabels(check.dynamic('labels').with(metadata?.labels))
  validateAnnotations(check.dynamic('annotations').with(metadata?.annotations))
  validatePodAnnotations(check.dynamic('annotations').with(metadata?.annotations), spec ?? { containers: [] }, options)
}

/** The template with what the controller puts into each pod: its own host name and subdomain, and the claims as volumes. */
function templateAsRun({ template, volumeClaimTemplates }: V1StatefulSetSpec): V1PodTemplateSpec {
  const podSpec = template.spec
  if (!podSpec || (!podSpec.subdomain && !podSpec.hostname && !volumeClaimTemplates?.length)) return template
  const { subdomain: _subdomain, hostname: _hostname, ...spec } = podSpec
  if (volumeClaimTemplates?.length) {
    const claims = new Map<string, V1Volume>()
    for (const { metadata } of volumeClaimTemplates) {
      const name = metadata?.name ?? ''
      claims.set(name, { name, persistentVolumeClaim: { claimName: name } })
    }
    spec.volumes = [...claims.values(), ...(spec.volumes ?? []).filter(({ name }) => !claims.has(name))]
  }
  return { ...template, spec }
}

/** All of the spec that an update may not change. */
function frozenPart(spec: V1StatefulSetSpec): Partial<V1StatefulSetSpec> {
  const { selector, volumeClaimTemplates, serviceName, podManagementPolicy } = spec
  return {
    selector,
    ...defined({ volumeClaimTemplates }),
    serviceName: serviceName ?? '',
    podManagementPolicy: podManagementPolicy ?? '',
  }
}

function specWarnings(spec: V1StatefulSetSpec, claimPath: (index: number) => string): string[] {
  const warnings = (spec.volumeClaimTemplates ?? []).flatMap((claim, index) => claimSpecWarnings(claim.spec ?? {}, claimPath(index)))
  if ((spec.revisionHistoryLimit ?? 0) < 0) {
    warnings.push('spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended')
  }
  return warnings
}

function validateStatus(check: Check<V1StatefulSetStatus>): void {
  const status = check.value
  const { replicas = 0, readyReplicas = 0, availableReplicas = 0 } = status
  nonNegative(check.at('replicas').or(0))
  nonNegative(check.at('readyReplicas').or(0))
  nonNegative(check.at('currentReplicas').or(0))
  nonNegative(check.at('updatedReplicas').or(0))
  nonNegative(check.at('availableReplicas').or(0))
  nonNegative(check.at('observedGeneration'))
  nonNegative(check.at('collisionCount'))
  mustNotExceedReplicas(check, replicas, ['readyReplicas', 'currentReplicas', 'updatedReplicas', 'availableReplicas'])
  if (availableReplicas > readyReplicas) check.at('availableReplicas').or(0).invalid('cannot be greater than status.readyReplicas')
}
