/** The kinds of the vertical pod autoscaler, which upstream installs as definitions beside its three programs. */
import { type CustomObjectOf, defineCustomResource } from '#api/declaration/define-custom-resource.ts'
import { anyObject, choice, integer, list, map, number, object, optional, schema, string, time } from '#api/declaration/schema.ts'

const annotations = { 'api-approved.kubernetes.io': 'https://github.com/kubernetes/kubernetes/pull/63797' }
const quantity = schema<string>({
  'x-kubernetes-int-or-string': true,
  anyOf: [{ type: 'integer' }, { type: 'string' }],
  pattern: '^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$',
})
const amounts = optional(map(quantity))
const reference = object({ apiVersion: optional(string()), kind: string(), name: string() })
const condition = object({
  ...{ type: string(), status: string(), lastTransitionTime: optional(time()), reason: optional(string()), message: optional(string()) },
})
const modes = ['Off', 'Initial', 'Recreate', 'InPlaceOrRecreate', 'Auto'] as const
const age = { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }
const provided = { name: 'Provided', type: 'string', jsonPath: '.status.conditions[?(@.type=="RecommendationProvided")].status' }

export const VerticalPodAutoscaler = defineCustomResource({
  ...{ group: 'autoscaling.k8s.io', version: 'v1', kind: 'VerticalPodAutoscaler', shortNames: ['vpa'], annotations },
  spec: object({
    targetRef: reference,
    recommenders: optional(list(object({ name: string() }))),
    updatePolicy: optional(
      object({
        updateMode: optional(choice(modes)),
        minReplicas: optional(integer()),
        evictionRequirements: optional(
          list(
            object({
              resources: list(string()),
              changeRequirement: choice(['TargetHigherThanRequests', 'TargetLowerThanRequests']),
            }),
          ),
        ),
      }),
    ),
    resourcePolicy: optional(
      object({
        containerPolicies: optional(
          list(
            object({
              containerName: optional(string()),
              mode: optional(choice(['Auto', 'Off'])),
              minAllowed: amounts,
              maxAllowed: amounts,
              controlledResources: optional(list(string())),
              controlledValues: optional(choice(['RequestsAndLimits', 'RequestsOnly'])),
            }),
          ),
        ),
      }),
    ),
  }),
  status: object({
    recommendation: optional(
      object({
        containerRecommendations: optional(
          list(
            object({
              containerName: optional(string()),
              target: map(quantity),
              lowerBound: amounts,
              upperBound: amounts,
              uncappedTarget: amounts,
            }),
          ),
        ),
      }),
    ),
    conditions: optional(list(condition)),
  }),
  columns: [
    { name: 'Mode', type: 'string', jsonPath: '.spec.updatePolicy.updateMode' },
    { name: 'CPU', type: 'string', jsonPath: '.status.recommendation.containerRecommendations[0].target.cpu' },
    { name: 'Mem', type: 'string', jsonPath: '.status.recommendation.containerRecommendations[0].target.memory' },
    provided,
    age,
  ],
})
export type VerticalPodAutoscaler = CustomObjectOf<typeof VerticalPodAutoscaler>

/** As the first release had it: pods by selector, in place of a target. */
export const PocVerticalPodAutoscaler = defineCustomResource({
  ...{ group: 'poc.autoscaling.k8s.io', version: 'v1alpha1', kind: 'VerticalPodAutoscaler', annotations },
  spec: object({
    selector: anyObject<{
      matchLabels?: Record<string, string>
      matchExpressions?: { key: string; operator: string; values?: string[] }[]
    }>(),
    updatePolicy: optional(object({ updateMode: optional(choice(modes)) })),
    resourcePolicy: optional(
      object({
        containerPolicies: optional(
          list(object({ name: optional(string()), mode: optional(choice(['Auto', 'Off'])), minAllowed: amounts, maxAllowed: amounts })),
        ),
      }),
    ),
  }),
  status: object({
    lastUpdateTime: optional(time()),
    recommendation: optional(
      object({
        containerRecommendations: optional(
          list(object({ name: string(), target: map(quantity), minRecommended: amounts, maxRecommended: amounts })),
        ),
      }),
    ),
    conditions: optional(list(condition)),
  }),
  columns: [{ name: 'Mode', type: 'string', jsonPath: '.spec.updatePolicy.updateMode' }, provided, age],
})
export type PocVerticalPodAutoscaler = CustomObjectOf<typeof PocVerticalPodAutoscaler>

const histogram = optional(
  object({ referenceTimestamp: optional(time()), bucketWeights: optional(map(integer())), totalWeight: optional(number()) }),
)

export const VerticalPodAutoscalerCheckpoint = defineCustomResource({
  ...{ group: 'autoscaling.k8s.io', version: 'v1', kind: 'VerticalPodAutoscalerCheckpoint', shortNames: ['vpacheckpoint'], annotations },
  spec: object({ vpaObjectName: optional(string()), containerName: optional(string()) }),
  status: object({
    lastUpdateTime: optional(time()),
    version: optional(string()),
    cpuHistogram: histogram,
    memoryHistogram: histogram,
    firstSampleStart: optional(time()),
    lastSampleStart: optional(time()),
    totalSamplesCount: optional(integer()),
  }),
})
export type VerticalPodAutoscalerCheckpoint = CustomObjectOf<typeof VerticalPodAutoscalerCheckpoint>

export const verticalAutoscalerResources = [VerticalPodAutoscaler, PocVerticalPodAutoscaler, VerticalPodAutoscalerCheckpoint] as const
