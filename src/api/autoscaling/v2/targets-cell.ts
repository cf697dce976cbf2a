/** The Targets column: what each metric shows now and what it should show, `cpu: 20%/80%, 5/10 (avg) + 1 more...`. */
import type { V2MetricSpec, V2MetricStatus, V2MetricTarget, V2MetricValueStatus } from '#api/autoscaling/v2/types.gen.ts'

const maxShown = 2

export function targetsCell(specs: readonly V2MetricSpec[], statuses: readonly V2MetricStatus[]): string {
  if (specs.length === 0) return '<none>'
  const shown = specs
    .slice(0, maxShown)
    .map((spec, index) => targetText(spec, statuses[index]))
    .join(', ')
  return specs.length > maxShown ? `${shown} + ${specs.length - maxShown} more...` : shown
}

// A current value that was reported without the number asked for.
const none = '<nil>'
const unknown = '<unknown>'

function targetText(spec: V2MetricSpec, status: V2MetricStatus | undefined): string {
  switch (spec.type) {
    case 'External':
      return valueText(spec.external?.target, status?.external?.current)
    case 'Object':
      return valueText(spec.object?.target, status?.object?.current)
    case 'Pods':
      return `${status?.pods ? (status.pods.current.averageValue ?? none) : unknown}/${spec.pods?.target.averageValue ?? none}`
    case 'Resource':
      return `${spec.resource?.name}: ${usageText(spec.resource?.target, status?.resource?.current)}`
    case 'ContainerResource':
      return `${spec.containerResource?.name}: ${usageText(spec.containerResource?.target, status?.containerResource?.current)}`
    default:
      return '<unknown type>'
  }
}

function valueText(target: V2MetricTarget | undefined, current: V2MetricValueStatus | undefined): string {
  if (target?.averageValue !== undefined) return `${current?.averageValue ?? unknown}/${target.averageValue} (avg)`
  return `${current ? (current.value ?? none) : unknown}/${target?.value ?? none}`
}

function usageText(target: V2MetricTarget | undefined, current: V2MetricValueStatus | undefined): string {
  if (target?.averageValue !== undefined) return `${current ? (current.averageValue ?? none) : unknown}/${target.averageValue}`
  return `${percentText(current?.averageUtilization, unknown)}/${percentText(target?.averageUtilization, '<auto>')}`
}

function percentText(percent: number | undefined, otherwise: string): string {
  return percent === undefined ? otherwise : `${percent}%`
}
