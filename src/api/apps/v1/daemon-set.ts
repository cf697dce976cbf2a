import { intOrPercentValue, mustBePositiveIntOrPercent, mustNotExceed100Percent } from '#api/apps/v1/int-or-percent.ts'
import { DaemonSet } from '#api/apps/v1/kinds.gen.ts'
import type {
  V1DaemonSet,
  V1DaemonSetSpec,
  V1DaemonSetStatus,
  V1DaemonSetUpdateStrategy,
  V1RollingUpdateDaemonSet,
} from '#api/apps/v1/types.gen.ts'
import { containersColumn, imagesColumn, selectorColumn } from '#api/apps/v1/workload-columns.ts'
import { mustNotBeDecremented } from '#api/apps/v1/workload-status.ts'
import { isEmptySelector, mustRunForever, mustSelectTemplate, selectorOf } from '#api/apps/v1/workload-template.ts'
import { defaultPodTemplate } from '#api/core/v1/pod-spec/defaults.ts'
import { dropDisabledFields } from '#api/core/v1/pod-spec/drop-disabled.ts'
import { type PodValidationOptions, podValidationOptions, validatePodTemplate } from '#api/core/v1/pod-spec/validate-pod-template.ts'
import { podTemplateWarnings } from '#api/core/v1/pod-spec/warnings.ts'
import type { Check } from '#api/meta/check.ts'
import { ageColumn, nameColumn } from '#api/meta/columns.ts'
import { equalityOf } from '#api/meta/equality.ts'
import { nonNegative } from '#api/meta/formats.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { hasInvalidLabelValue, validateLabelSelector } from '#api/meta/labels.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { labelsText } from '#api/meta/selector.ts'
import { defineResource } from '#api/resource.ts'

const sameSpec = equalityOf(DaemonSet).at('spec')

/** Counts versions of the template. A field of old API versions; in this one an annotation that only the server writes. */
export const templateGenerationAnnotation = 'deprecated.daemonset.template.generation'

export const daemonSetResource = defineResource(DaemonSet, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',
  derivedAnnotations: [templateGenerationAnnotation],

  defaults(daemonSet) {
    daemonSet.spec ??= {} as V1DaemonSetSpec
    const { spec } = daemonSet
    spec.template ??= { spec: { containers: [] } }
    defaultPodTemplate(spec.template)
    spec.updateStrategy ??= {}
    defaultUpdateStrategy(spec.updateStrategy)
    spec.revisionHistoryLimit ??= 10
    // Present from the start, so that its owner is whoever writes the object.
    setTemplateGeneration(daemonSet, templateGeneration(daemonSet))
  },

  prepareForCreate(daemonSet, context) {
    setTemplateGeneration(daemonSet, Math.max(templateGeneration(daemonSet), 1))
    dropDisabledFields(daemonSet.spec.template, undefined, context)
  },
  validate: ({ spec }, check, context) => validateSpec(check.at('spec'), podValidationOptions(spec.template, undefined, context), false),
  warningsOnCreate: ({ spec }) => podTemplateWarnings(spec.template, undefined, 'spec.template'),

  generation: 'spec',
  prepareForUpdate(next, prev, context) {
    dropDisabledFields(next.spec.template, prev.spec.template, context)
    const generation = templateGeneration(prev)
    setTemplateGeneration(next, sameSpec.at('template')(next.spec.template, prev.spec.template) ? generation : generation + 1)
  },
  validateUpdate(next, prev, check, context) {
    const { spec } = next
    if (context.requestVersion !== 'extensions/v1beta1') {
      mustNotChange(check.at('spec').at('selector'), prev.spec.selector, sameSpec.at('selector'), '*meta.LabelSelector')
    }
    const options = podValidationOptions(spec.template, prev.spec.template, context)
    validateSpec(check.at('spec'), options, options.allowInvalidLabelValueInSelector || hasInvalidLabelValue(prev.spec.selector))
  },
  warningsOnUpdate: (next, prev) =>
    templateGeneration(next) === templateGeneration(prev)
      ? []
      : podTemplateWarnings(next.spec.template, prev.spec.template, 'spec.template'),

  subresources: {
    status: {
      prepareForUpdate(next, prev) {
        setTemplateGeneration(next, templateGeneration(prev))
      },
      validateUpdate: ({ status }, prev, check) => status && validateStatus(check.at('status').present, prev.status),
    },
  },

  columns: [
    nameColumn,
    {
      name: 'Desired',
      type: 'integer',
      description: { field: 'DaemonSetStatus.desiredNumberScheduled' },
      cell: ({ status }) => status?.desiredNumberScheduled ?? 0,
    },
    {
      name: 'Current',
      type: 'integer',
      description: { field: 'DaemonSetStatus.currentNumberScheduled' },
      cell: ({ status }) => status?.currentNumberScheduled ?? 0,
    },
    {
      name: 'Ready',
      type: 'integer',
      description: { field: 'DaemonSetStatus.numberReady' },
      cell: ({ status }) => status?.numberReady ?? 0,
    },
    {
      name: 'Up-to-date',
      type: 'integer',
      description: { field: 'DaemonSetStatus.updatedNumberScheduled' },
      cell: ({ status }) => status?.updatedNumberScheduled ?? 0,
    },
    {
      name: 'Available',
      type: 'integer',
      description: { field: 'DaemonSetStatus.numberAvailable' },
      cell: ({ status }) => status?.numberAvailable ?? 0,
    },
    {
      name: 'Node Selector',
      type: 'string',
      description: { field: 'PodSpec.nodeSelector' },
      cell: ({ spec }) => labelsText(spec.template.spec?.nodeSelector),
    },
    ageColumn,
    containersColumn(({ spec }) => spec.template.spec),
    imagesColumn(({ spec }) => spec.template.spec),
    selectorColumn('DaemonSetSpec.selector', ({ spec }) => spec.selector),
  ],
})

function templateGeneration({ metadata }: V1DaemonSet): number {
  return Number(metadata.annotations?.[templateGenerationAnnotation]) || 0
}

function setTemplateGeneration(daemonSet: V1DaemonSet, generation: number): void {
  daemonSet.metadata ??= {}
  daemonSet.metadata.annotations ??= {}
  daemonSet.metadata.annotations[templateGenerationAnnotation] = String(generation)
}

function defaultUpdateStrategy(strategy: V1DaemonSetUpdateStrategy): void {
  strategy.type ||= 'RollingUpdate'
  if (strategy.type !== 'RollingUpdate') return
  strategy.rollingUpdate ??= {}
  strategy.rollingUpdate.maxUnavailable ??= 1
  strategy.rollingUpdate.maxSurge ??= 0
}

function validateSpec(check: Check<V1DaemonSetSpec>, options: PodValidationOptions, allowInvalidLabelValue: boolean): void {
  const spec = check.value
  if (spec.selector) validateLabelSelector(check.at('selector'), { allowInvalidValues: allowInvalidLabelValue })
  const selector = selectorOf(spec.selector)
  if (selector) mustSelectTemplate(selector, check.at('template'))
  if (spec.selector && isEmptySelector(spec.selector)) {
    check.at('selector').invalid('empty selector is invalid for daemonset', asInternal('meta.LabelSelector', spec.selector))
  }
  validatePodTemplate(check.at('template'), options)
  mustRunForever(check.at('template'), 'DaemonSet')
  nonNegative(check.at('minReadySeconds'))
  validateUpdateStrategy(check.at('updateStrategy').or({}))
  nonNegative(check.at('revisionHistoryLimit'))
}

function validateUpdateStrategy(check: Check<V1DaemonSetUpdateStrategy>): void {
  const strategy = check.value
  if (strategy.type === 'OnDelete') return
  if (strategy.type !== 'RollingUpdate') {
    check.notSupported(['RollingUpdate', 'OnDelete'], asInternal('apps.DaemonSetUpdateStrategy', strategy))
  } else if (!strategy.rollingUpdate) check.at('rollingUpdate').required()
  else validateRollingUpdate(check.at('rollingUpdate').present)
}

function validateRollingUpdate(check: Check<V1RollingUpdateDaemonSet>): void {
  const { maxUnavailable = 0, maxSurge = 0 } = check.value
  mustBePositiveIntOrPercent(check.at('maxUnavailable').or(0))
  mustBePositiveIntOrPercent(check.at('maxSurge').or(0))
  mustNotExceed100Percent(check.at('maxUnavailable').or(0))
  mustNotExceed100Percent(check.at('maxSurge').or(0))
  const hasUnavailable = intOrPercentValue(maxUnavailable) !== 0
  const hasSurge = intOrPercentValue(maxSurge) !== 0
  if (hasUnavailable && hasSurge) check.at('maxSurge').or(0).invalid('may not be set when maxUnavailable is non-zero')
  else if (!hasUnavailable && !hasSurge) check.at('maxUnavailable').required('cannot be 0 when maxSurge is 0')
}

function validateStatus(check: Check<V1DaemonSetStatus>, prev: V1DaemonSetStatus | undefined): void {
  nonNegative(check.at('currentNumberScheduled'))
  nonNegative(check.at('numberMisscheduled'))
  nonNegative(check.at('desiredNumberScheduled'))
  nonNegative(check.at('numberReady'))
  nonNegative(check.at('observedGeneration'))
  nonNegative(check.at('updatedNumberScheduled'))
  nonNegative(check.at('numberAvailable'))
  nonNegative(check.at('numberUnavailable'))
  nonNegative(check.at('collisionCount'))
  mustNotBeDecremented(check.at('collisionCount'), prev?.collisionCount)
}
