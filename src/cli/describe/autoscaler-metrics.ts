/** What an autoscaler looks at, and how fast it may act. */
import type { V2HorizontalPodAutoscalerSpec, V2HPAScalingRules, V2MetricSpec, V2MetricStatus } from '#api/autoscaling/v2/types.gen.ts'
import type { Description } from './description.ts'

const unknown = '<unknown>'

export function describeMetric(out: Description, metric: V2MetricSpec, status: V2MetricStatus | undefined): void {
  const { type, resource, containerResource, pods, object, external } = metric
  if (type === 'Resource' && resource !== undefined)
    usage(out, `resource ${resource.name} on pods`, resource.target, status?.resource?.current)
  else if (type === 'ContainerResource' && containerResource !== undefined)
    usage(
      out,
      `resource ${containerResource.name} of container "${containerResource.container}" on pods`,
      containerResource.target,
      status?.containerResource?.current,
    )
  else if (type === 'Pods' && pods !== undefined)
    line(out, `"${pods.metric.name}" on pods`, status?.pods?.current.averageValue, pods.target.averageValue)
  else if (type === 'Object' && object !== undefined) {
    const title = `"${object.metric.name}" on ${object.describedObject.kind}/${object.describedObject.name}`
    const current = status?.object?.current
    if (object.target.type === 'AverageValue')
      line(out, `${title} (target average value)`, current?.averageValue, object.target.averageValue)
    else line(out, `${title} (target value)`, current?.value, object.target.value)
  } else if (type === 'External' && external !== undefined) {
    const current = status?.external?.current
    if (external.target.averageValue !== undefined)
      line(out, `"${external.metric.name}" (target average value)`, current?.averageValue, external.target.averageValue)
    else line(out, `"${external.metric.name}" (target value)`, current?.value, external.target.value)
  } else out.write(1, `<unknown metric type ${JSON.stringify(type)}>\n`)
}

const line = (out: Description, title: string, current: string | undefined, target: string | undefined): void =>
  out.write(1, `${title}:\t${current ?? unknown} / ${target}\n`)

type Target = { averageValue?: string; averageUtilization?: number }

function usage(out: Description, title: string, target: Target, current: Target | undefined): void {
  if (target.averageValue !== undefined) {
    line(out, title, current?.averageValue, target.averageValue)
    return
  }
  const now = current?.averageUtilization === undefined ? unknown : `${current.averageUtilization}% (${current.averageValue})`
  const wanted = target.averageUtilization === undefined ? '<auto>' : `${target.averageUtilization}%`
  out.write(1, `${title}  (as a percentage of request):\t${now} / ${wanted}\n`)
}

export function describeBehavior(out: Description, behavior: V2HorizontalPodAutoscalerSpec['behavior']): void {
  if (behavior === undefined) return
  out.write(0, 'Behavior:\n')
  direction(out, 'Scale Up', behavior.scaleUp)
  direction(out, 'Scale Down', behavior.scaleDown)
}

function direction(out: Description, title: string, rules: V2HPAScalingRules | undefined): void {
  if (rules === undefined) return
  out.write(1, `${title}:\n`)
  if (rules.stabilizationWindowSeconds !== undefined) out.write(2, `Stabilization Window: ${rules.stabilizationWindowSeconds} seconds\n`)
  if ((rules.policies ?? []).length === 0) return
  out.write(2, `Select Policy: ${rules.selectPolicy ?? 'Max'}\n`)
  out.write(2, 'Policies:\n')
  for (const { type, value, periodSeconds } of rules.policies ?? [])
    out.write(3, `- Type: ${type}\tValue: ${value}\tPeriod: ${periodSeconds} seconds\n`)
}
