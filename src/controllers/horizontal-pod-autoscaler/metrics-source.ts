import type { V2CrossVersionObjectReference } from '#api/autoscaling/v2/types.gen.ts'
import type { DiscoveredResource } from '#client/discovery.ts'
import type { PodMetric } from '#controllers/horizontal-pod-autoscaler/replica-calculator.ts'

/** Where measurements come from. All values are in thousandths; pods of which nothing is known are left out. */
export type MetricsSource = {
  /** What each pod uses of a resource: all its containers, or one. */
  resource(asked: { resource: string; namespace: string; selector: string; container: string }): Promise<Map<string, PodMetric>>
  /** A measurement of each pod. */
  pods(asked: { metric: string; namespace: string; selector: string; metricSelector: string }): Promise<Map<string, PodMetric>>
  /** A measurement of one object. */
  object(
    asked: { metric: string; namespace: string; object: V2CrossVersionObjectReference; metricSelector: string },
    resources: readonly DiscoveredResource[],
  ): Promise<number>
  /** The sum of a measurement of something outside of the cluster. */
  external(asked: { metric: string; namespace: string; metricSelector: string }): Promise<number>
}
