/** Rules for one metric that an autoscaler watches. */
import type {
  V2ContainerResourceMetricSource,
  V2ExternalMetricSource,
  V2MetricIdentifier,
  V2MetricSpec,
  V2MetricTarget,
  V2ObjectMetricSource,
  V2PodsMetricSource,
  V2ResourceMetricSource,
} from '#api/autoscaling/v2/types.gen.ts'
import { type ReferenceOptions, validateReference } from '#api/autoscaling/v2/validate-reference.ts'
import { validateContainerResourceName } from '#api/core/v1/resource-names.ts'
import type { Check } from '#api/meta/check.ts'
import { dns1123Label, mustBe, pathSegmentName } from '#api/meta/names.ts'
import { parseQuantity } from '#api/meta/quantity.ts'

const sourceTypes = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource']

const sourceOfType: Readonly<Record<string, keyof V2MetricSpec>> = {
  Object: 'object',
  Pods: 'pods',
  Resource: 'resource',
  External: 'external',
  ContainerResource: 'containerResource',
}

/** The order in which sources are looked at; only the first one found is validated. */
const sources = ['object', 'external', 'pods', 'resource', 'containerResource'] as const

export function validateMetric(check: Check<V2MetricSpec>, describedObject: ReferenceOptions): void {
  const metric = check.value
  const { type = '' } = metric
  if (type === '') check.at('type').required('must specify a metric source type')
  if (!sourceTypes.includes(type)) check.at('type').or('').notSupported(sourceTypes)
  const present = sources.filter((source) => metric[source])
  validateSource(check, present[0], describedObject)
  const expected = sourceOfType[type]
  if (expected === undefined) check.at('type').or('').notSupported(sourceTypes)
  else if (!metric[expected]) check.at(expected).required('must populate information for the given metric source')
  if (present.length === 1) return
  for (const source of present) {
    if (source !== expected) check.at(source).forbidden('must populate the given metric source only')
  }
}

function validateSource(check: Check<V2MetricSpec>, source: (typeof sources)[number] | undefined, options: ReferenceOptions): void {
  const metric = check.value
  if (source === 'object' && metric.object) validateObject(check.at(source).with(metric.object), options)
  if (source === 'external' && metric.external) validateExternal(check.at(source).with(metric.external))
  if (source === 'pods' && metric.pods) validatePods(check.at(source).with(metric.pods))
  if (source === 'resource' && metric.resource) validateResource(check.at(source).with(metric.resource))
  if (source === 'containerResource' && metric.containerResource) validateContainerResource(check.at(source).with(metric.containerResource))
}

function validateObject(check: Check<V2ObjectMetricSource>, options: ReferenceOptions): void {
  const { target } = check.value
  validateReference(check.at('describedObject').or({}), options)
  validateIdentifier(check.at('metric'))
  validateTarget(check.at('target'))
  if (target?.value === undefined && target?.averageValue === undefined) {
    check.at('target').at('averageValue').required('must set either a target value or averageValue')
  }
}

function validateExternal(check: Check<V2ExternalMetricSource>): void {
  const { target } = check.value
  validateIdentifier(check.at('metric'))
  validateTarget(check.at('target'))
  const hasValue = target?.value !== undefined
  const hasAverage = target?.averageValue !== undefined
  if (!hasValue && !hasAverage)
    check.at('target').at('averageValue').required('must set either a target value for metric or a per-pod target')
  if (hasValue && hasAverage) check.at('target').at('value').forbidden('may not set both a target value for metric and a per-pod target')
}

function validatePods(check: Check<V2PodsMetricSource>): void {
  const { target } = check.value
  validateIdentifier(check.at('metric'))
  validateTarget(check.at('target'))
  if (target?.averageValue === undefined) check.at('target').at('averageValue').required('must specify a positive target averageValue')
}

function validateContainerResource(check: Check<V2ContainerResourceMetricSource>): void {
  const { name, container } = check.value
  if (!name) check.at('name').required('must specify a resource name')
  else validateContainerResourceName(check.at('name'))
  if (!container) check.at('container').required('must specify a container')
  else mustBe(dns1123Label, check.at('container'))
  validateUsageTarget(check.at('target'))
}

function validateResource(check: Check<V2ResourceMetricSource>): void {
  const { name } = check.value
  if (!name) check.at('name').required('must specify a resource name')
  validateUsageTarget(check.at('target'))
}

function validateUsageTarget(check: Check<V2MetricTarget | undefined>): void {
  const target = check.value
  validateTarget(check)
  const hasUtilization = target?.averageUtilization !== undefined
  const hasValue = target?.averageValue !== undefined
  if (!hasUtilization && !hasValue) check.at('averageUtilization').required('must set either a target raw value or a target utilization')
  if (hasUtilization && hasValue) check.at('averageValue').forbidden('may not set both a target raw value and a target utilization')
}

function validateTarget(check: Check<V2MetricTarget | undefined>): void {
  const target = check.value
  const { type = '', value, averageValue, averageUtilization } = target ?? { type: '' }
  if (type === '') check.at('type').required('must specify a metric target type')
  if (type !== 'Utilization' && type !== 'Value' && type !== 'AverageValue') {
    check.at('type').invalid('must be either Utilization, Value, or AverageValue', type)
  }
  if (value !== undefined && parseQuantity(value).sign <= 0) check.at('value').invalid('must be positive', value)
  if (averageValue !== undefined && parseQuantity(averageValue).sign <= 0)
    check.at('averageValue').invalid('must be positive', averageValue)
  if (averageUtilization !== undefined && averageUtilization < 1) {
    check.at('averageUtilization').invalid('must be greater than 0', averageUtilization)
  }
}

function validateIdentifier(check: Check<V2MetricIdentifier | undefined>): void {
  const identifier = check.value
  if (!identifier?.name) check.at('name').required('must specify a metric name')
  else mustBe(pathSegmentName, check.at('name').present)
}
