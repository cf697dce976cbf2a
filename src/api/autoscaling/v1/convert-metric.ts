/** Metrics between v1's flat shape and v2's, which parts what is measured from what is wanted. Keys are written in upstream's order. */
import type { V1MetricSpec, V1MetricStatus } from '#api/autoscaling/v1/types.gen.ts'
import type { V2MetricSpec, V2MetricStatus, V2MetricTarget, V2MetricValueStatus } from '#api/autoscaling/v2/types.gen.ts'
import { isQuantity, parseQuantity } from '#api/meta/quantity.ts'
import type { V1LabelSelector } from '#api/meta/v1/types.gen.ts'

/** Drops what is absent: fields of the API are never set to undefined. */
function present<T extends object>(fields: { [K in keyof T]: T[K] | undefined }): T {
  for (const key in fields) if (fields[key] === undefined) delete fields[key]
  return fields as T
}

const identifier = (name: string, selector: V1LabelSelector | undefined) => present({ name, selector }) as { name: string }

const target = (type: string, fields: Partial<Record<Exclude<keyof V2MetricTarget, 'type'>, unknown>>) =>
  present({ type, ...fields }) as V2MetricTarget

const usageTarget = (averageUtilization: number | undefined, averageValue: string | undefined) =>
  target(averageUtilization === undefined ? 'AverageValue' : 'Utilization', { averageValue, averageUtilization })

export function metricToV2(metric: V1MetricSpec): V2MetricSpec {
  const { type, object, pods, resource, containerResource, external } = metric
  const converted: V2MetricSpec = { type }
  if (object) {
    const { targetValue = '0', averageValue } = object
    const isZero = isQuantity(targetValue) && parseQuantity(targetValue).isZero
    converted.object = {
      describedObject: object.target,
      target:
        averageValue === undefined
          ? target('Value', { value: targetValue })
          : target('AverageValue', { value: isZero ? undefined : targetValue, averageValue }),
      metric: identifier(object.metricName, object.selector),
    }
  }
  if (pods) {
    converted.pods = {
      metric: identifier(pods.metricName, pods.selector),
      target: target('AverageValue', { averageValue: pods.targetAverageValue ?? '0' }),
    }
  }
  if (resource) {
    converted.resource = { name: resource.name, target: usageTarget(resource.targetAverageUtilization, resource.targetAverageValue) }
  }
  if (containerResource) {
    const { name, container, targetAverageUtilization, targetAverageValue } = containerResource
    converted.containerResource = { name, target: usageTarget(targetAverageUtilization, targetAverageValue), container }
  }
  if (external) {
    const { metricName, metricSelector, targetValue, targetAverageValue } = external
    converted.external = {
      metric: identifier(metricName, metricSelector),
      target: target(targetValue === undefined ? 'AverageValue' : 'Value', { value: targetValue, averageValue: targetAverageValue }),
    }
  }
  return converted
}

export function metricFromV2(metric: V2MetricSpec): V1MetricSpec {
  const { type, object, pods, resource, containerResource, external } = metric
  const converted: V1MetricSpec = { type }
  if (object) {
    converted.object = present({
      target: object.describedObject,
      metricName: object.metric.name,
      targetValue: object.target.value ?? '0',
      selector: object.metric.selector,
      averageValue: object.target.averageValue,
    })
  }
  if (pods) {
    converted.pods = present({
      metricName: pods.metric.name,
      targetAverageValue: pods.target.averageValue ?? '0',
      selector: pods.metric.selector,
    })
  }
  if (resource) {
    converted.resource = present({
      name: resource.name,
      targetAverageUtilization: resource.target.averageUtilization,
      targetAverageValue: resource.target.averageValue,
    })
  }
  if (containerResource) {
    converted.containerResource = present({
      name: containerResource.name,
      targetAverageUtilization: containerResource.target.averageUtilization,
      targetAverageValue: containerResource.target.averageValue,
      container: containerResource.container,
    })
  }
  if (external) {
    converted.external = present({
      metricName: external.metric.name,
      metricSelector: external.metric.selector,
      targetValue: external.target.value,
      targetAverageValue: external.target.averageValue,
    })
  }
  return converted
}

const current = (fields: Partial<Record<keyof V2MetricValueStatus, unknown>>) => present(fields) as V2MetricValueStatus

export function metricStatusToV2(status: V1MetricStatus): V2MetricStatus {
  const { type, object, pods, resource, containerResource, external } = status
  const converted: V2MetricStatus = { type }
  if (object) {
    converted.object = {
      metric: identifier(object.metricName, object.selector),
      current: current({ value: object.currentValue ?? '0', averageValue: object.averageValue }),
      describedObject: object.target,
    }
  }
  if (pods) {
    converted.pods = {
      metric: identifier(pods.metricName, pods.selector),
      current: current({ averageValue: pods.currentAverageValue ?? '0' }),
    }
  }
  if (resource) {
    const { name, currentAverageUtilization: averageUtilization, currentAverageValue: averageValue = '0' } = resource
    converted.resource = { name, current: current({ averageValue, averageUtilization }) }
  }
  if (containerResource) {
    const { name, container, currentAverageUtilization: averageUtilization, currentAverageValue: averageValue = '0' } = containerResource
    converted.containerResource = { name, current: current({ averageValue, averageUtilization }), container }
  }
  if (external) {
    converted.external = {
      metric: identifier(external.metricName, external.metricSelector),
      current: current({ value: external.currentValue ?? '0', averageValue: external.currentAverageValue }),
    }
  }
  return converted
}

export function metricStatusFromV2(status: V2MetricStatus): V1MetricStatus {
  const { type, object, pods, resource, containerResource, external } = status
  const converted: V1MetricStatus = { type }
  if (object) {
    converted.object = present({
      target: object.describedObject,
      metricName: object.metric.name,
      currentValue: object.current.value ?? '0',
      selector: object.metric.selector,
      averageValue: object.current.averageValue,
    })
  }
  if (pods) {
    converted.pods = present({
      metricName: pods.metric.name,
      currentAverageValue: pods.current.averageValue ?? '0',
      selector: pods.metric.selector,
    })
  }
  if (resource) {
    converted.resource = present({
      name: resource.name,
      currentAverageUtilization: resource.current.averageUtilization,
      currentAverageValue: resource.current.averageValue ?? '0',
    })
  }
  if (containerResource) {
    converted.containerResource = present({
      name: containerResource.name,
      currentAverageUtilization: containerResource.current.averageUtilization,
      currentAverageValue: containerResource.current.averageValue ?? '0',
      container: containerResource.container,
    })
  }
  if (external) {
    converted.external = present({
      metricName: external.metric.name,
      metricSelector: external.metric.selector,
      currentValue: external.current.value ?? '0',
      currentAverageValue: external.current.averageValue,
    })
  }
  return converted
}
