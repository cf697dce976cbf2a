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
import { semanticEqual } from '#api/meta/equality.ts'
import { nonNegative } from '#api/meta/formats.ts'
import { mustNotChange } from '#api/meta/immutable.ts'
import { hasInvalidLabelValue, validateLabelSelector } from '#api/meta/labels.ts'
import { putBack } from '#api/meta/put-back.ts'
import { asInternal } from '#api/meta/quote-internal.ts'
import { labelsText } from '#api/meta/selector.ts'
import { defineResource } from '#api/resource.ts'

/** Counts versions of the template. A field of old API versions; in this one an annotation that only the server writes. */
export const templateGenerationAnnotation = 'deprecated.daemonset.template.generation'

export const daemonSetResource = defineResource(DaemonSet, {
  allowUnconditionalUpdate: true,
  defaultPropagation: 'Background',
  resetFields: ['status'],
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
    delete daemonSet.status
    setTemplateGeneration(daemonSet, Math.max(templateGeneration(daemonSet), 1))
    dropDisabledFields(daemonSet.spec.template, undefined, context)
  },
  validate: ({ spec }, check, context) =>
    validateSpec(spec, check.at('spec'), podValidationOptions(spec.template, undefined, context), false),
  warningsOnCreate: ({ spec }) => podTemplateWarnings(spec.template, undefined, 'spec.template'),

  generation: 'spec',
  prepareForUpdate(next, prev, context) {
    dropDisabledFields(next.spec.template, prev.spec.template, context)
    putBack(next, prev, 'status')
    const generation = templateGeneration(prev)
    setTemplateGeneration(next, semanticEqual(next.spec.template, prev.spec.template) ? generation : generation + 1)
  },
  validateUpdate(next, prev, check, context) {
    const { spec } = next
    if (context.requestVersion !== 'extensions/v1beta1') {
      mustNotChange(spec.selector, prev.spec.selector, check.at('spec.selector'), '*meta.LabelSelector')
    }
    const options = podValidationOptions(spec.template, prev.spec.template, context)
    validateSpec(spec, check.at('spec'), options, options.allowInvalidLabelValueInSelector || hasInvalidLabelValue(prev.spec.selector))
  },
  warningsOnUpdate: (next, prev) =>
    templateGeneration(next) === templateGeneration(prev)
      ? []
      : podTemplateWarnings(next.spec.template, prev.spec.template, 'spec.template'),

  subresources: {
    status: {
      resetFields: ['spec'],
      prepareForUpdate(next, prev) {
        putBack(next, prev, 'spec')
        setTemplateGeneration(next, templateGeneration(prev))
      },
      validateUpdate: ({ status }, prev, check) => status && validateStatus(status, prev.status, check.at('status')),
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

function validateSpec(spec: V1DaemonSetSpec, check: Check, options: PodValidationOptions, allowInvalidLabelValue: boolean): void {
  const { template } = spec
  if (spec.selector) validateLabelSelector(spec.selector, check.at('selector'), { allowInvalidValues: allowInvalidLabelValue })
  const selector = selectorOf(spec.selector)
  if (selector) mustSelectTemplate(selector, template, check.at('template'))
  if (spec.selector && isEmptySelector(spec.selector)) {
    check.at('selector').invalid(asInternal('meta.LabelSelector', spec.selector), 'empty selector is invalid for daemonset')
  }
  validatePodTemplate(template, check.at('template'), options)
  mustRunForever(template, check.at('template'), 'DaemonSet')
  nonNegative(spec.minReadySeconds, check.at('minReadySeconds'))
  validateUpdateStrategy(spec.updateStrategy ?? {}, check.at('updateStrategy'))
  nonNegative(spec.revisionHistoryLimit, check.at('revisionHistoryLimit'))
}

function validateUpdateStrategy(strategy: V1DaemonSetUpdateStrategy, check: Check): void {
  if (strategy.type === 'OnDelete') return
  if (strategy.type !== 'RollingUpdate') {
    check.notSupported(asInternal('apps.DaemonSetUpdateStrategy', strategy), ['RollingUpdate', 'OnDelete'])
  } else if (!strategy.rollingUpdate) check.at('rollingUpdate').required()
  else validateRollingUpdate(strategy.rollingUpdate, check.at('rollingUpdate'))
}

function validateRollingUpdate({ maxUnavailable = 0, maxSurge = 0 }: V1RollingUpdateDaemonSet, check: Check): void {
  mustBePositiveIntOrPercent(maxUnavailable, check.at('maxUnavailable'))
  mustBePositiveIntOrPercent(maxSurge, check.at('maxSurge'))
  mustNotExceed100Percent(maxUnavailable, check.at('maxUnavailable'))
  mustNotExceed100Percent(maxSurge, check.at('maxSurge'))
  const hasUnavailable = intOrPercentValue(maxUnavailable) !== 0
  const hasSurge = intOrPercentValue(maxSurge) !== 0
  if (hasUnavailable && hasSurge) check.at('maxSurge').invalid(maxSurge, 'may not be set when maxUnavailable is non-zero')
  else if (!hasUnavailable && !hasSurge) check.at('maxUnavailable').required('cannot be 0 when maxSurge is 0')
}

function validateStatus(status: V1DaemonSetStatus, prev: V1DaemonSetStatus | undefined, check: Check): void {
  nonNegative(status.currentNumberScheduled, check.at('currentNumberScheduled'))
  nonNegative(status.numberMisscheduled, check.at('numberMisscheduled'))
  nonNegative(status.desiredNumberScheduled, check.at('desiredNumberScheduled'))
  nonNegative(status.numberReady, check.at('numberReady'))
  nonNegative(status.observedGeneration, check.at('observedGeneration'))
  nonNegative(status.updatedNumberScheduled, check.at('updatedNumberScheduled'))
  nonNegative(status.numberAvailable, check.at('numberAvailable'))
  nonNegative(status.numberUnavailable, check.at('numberUnavailable'))
  nonNegative(status.collisionCount, check.at('collisionCount'))
  mustNotBeDecremented(status.collisionCount, prev?.collisionCount, check.at('collisionCount'))
}
