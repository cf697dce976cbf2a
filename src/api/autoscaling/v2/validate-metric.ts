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
import { type ReferenceOptions, validateReference } from '#api/autoscaling/v2/validate-autoscaler.ts'
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

/** The order in which sources are looked at; only the first one found is judged. */
const sources = ['object', 'external', 'pods', 'resource', 'containerResource'] as const

export function validateMetric(metric: V2MetricSpec, check: Check, describedObject: ReferenceOptions): void {
  const { type = '' } = metric
  if (type === '') check.at('type').required('must specify a metric source type')
  if (!sourceTypes.includes(type)) check.at('type').notSupported(type, sourceTypes)
  const present = sources.filter((source) => metric[source])
  validateSource(metric, present[0], check, describedObject)
  const expected = sourceOfType[type]
  if (expected === undefined) check.at('type').notSupported(type, sourceTypes)
  else if (!metric[expected]) check.at(expected).required('must populate information for the given metric source')
  if (present.length === 1) return
  for (const source of present) {
    if (source !== expected) check.at(source).forbidden('must populate the given metric source only')
  }
}

function validateSource(metric: V2MetricSpec, source: (typeof sources)[number] | undefined, check: Check, options: ReferenceOptions): void {
  if (source === 'object' && metric.object) validateObject(metric.object, check.at(source), options)
  if (source === 'external' && metric.external) validateExternal(metric.external, check.at(source))
  if (source === 'pods' && metric.pods) validatePods(metric.pods, check.at(source))
  if (source === 'resource' && metric.resource) validateResource(metric.resource, check.at(source))
  if (source === 'containerResource' && metric.containerResource) validateContainerResource(metric.containerResource, check.at(source))
}

function validateObject({ describedObject, metric, target }: V2ObjectMetricSource, check: Check, options: ReferenceOptions): void {
  validateReference(describedObject ?? {}, check.at('describedObject'), options)
  validateIdentifier(metric, check.at('metric'))
  validateTarget(target, check.at('target'))
  if (target?.value === undefined && target?.averageValue === undefined) {
    check.at('target.averageValue').required('must set either a target value or averageValue')
  }
}

function validateExternal({ metric, target }: V2ExternalMetricSource, check: Check): void {
  validateIdentifier(metric, check.at('metric'))
  validateTarget(target, check.at('target'))
  const hasValue = target?.value !== undefined
  const hasAverage = target?.averageValue !== undefined
  if (!hasValue && !hasAverage) check.at('target.averageValue').required('must set either a target value for metric or a per-pod target')
  if (hasValue && hasAverage) check.at('target.value').forbidden('may not set both a target value for metric and a per-pod target')
}

function validatePods({ metric, target }: V2PodsMetricSource, check: Check): void {
  validateIdentifier(metric, check.at('metric'))
  validateTarget(target, check.at('target'))
  if (target?.averageValue === undefined) check.at('target.averageValue').required('must specify a positive target averageValue')
}

function validateContainerResource({ name, container, target }: V2ContainerResourceMetricSource, check: Check): void {
  if (!name) check.at('name').required('must specify a resource name')
  else validateContainerResourceName(name, check.at('name'))
  if (!container) check.at('container').required('must specify a container')
  else mustBe(dns1123Label, container, check.at('container'))
  validateUsageTarget(target, check.at('target'))
}

function validateResource({ name, target }: V2ResourceMetricSource, check: Check): void {
  if (!name) check.at('name').required('must specify a resource name')
  validateUsageTarget(target, check.at('target'))
}

function validateUsageTarget(target: V2MetricTarget | undefined, check: Check): void {
  validateTarget(target, check)
  const hasUtilization = target?.averageUtilization !== undefined
  const hasValue = target?.averageValue !== undefined
  if (!hasUtilization && !hasValue) check.at('averageUtilization').required('must set either a target raw value or a target utilization')
  if (hasUtilization && hasValue) check.at('averageValue').forbidden('may not set both a target raw value and a target utilization')
}

function validateTarget(target: V2MetricTarget | undefined, check: Check): void {
  const { type = '', value, averageValue, averageUtilization } = target ?? { type: '' }
  if (type === '') check.at('type').required('must specify a metric target type')
  if (type !== 'Utilization' && type !== 'Value' && type !== 'AverageValue') {
    check.at('type').invalid(type, 'must be either Utilization, Value, or AverageValue')
  }
  if (value !== undefined && parseQuantity(value).sign <= 0) check.at('value').invalid(value, 'must be positive')
  if (averageValue !== undefined && parseQuantity(averageValue).sign <= 0)
    check.at('averageValue').invalid(averageValue, 'must be positive')
  if (averageUtilization !== undefined && averageUtilization < 1) {
    check.at('averageUtilization').invalid(averageUtilization, 'must be greater than 0')
  }
}

function validateIdentifier(identifier: V2MetricIdentifier | undefined, check: Check): void {
  if (!identifier?.name) check.at('name').required('must specify a metric name')
  else mustBe(pathSegmentName, identifier.name, check.at('name'))
}
