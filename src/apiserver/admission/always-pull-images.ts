import { Pod } from '#api/core/v1/kinds.gen.ts'
import { checkAtContainer, eachContainer } from '#api/core/v1/pod-spec/all-containers.ts'
import type { V1Pod } from '#api/core/v1/types.gen.ts'
import { aggregateMessages, fieldErrorText } from '#api/meta/aggregate.ts'
import { Check } from '#api/meta/check.ts'
import { unknownFailure } from '#api/meta/status-error.ts'
import type { AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import { forbid } from '#apiserver/admission/forbid.ts'
import { objectOf, oldObjectOf } from '#apiserver/admission/object-of.ts'

const policy = 'Always'

/** Nobody uses an image that lies on a node without showing that they may pull it. */
export function alwaysPullImages(): AdmissionPlugin {
  return {
    name: 'AlwaysPullImages',
    operations: ['CREATE', 'UPDATE'],
    resources: ['pods'],
    mutate(request) {
      const { spec } = objectOf(Pod, request)
      if (spec === undefined || bringsNoImage(request)) return
      eachContainer(spec, (container) => {
        container.imagePullPolicy = policy
      })
      for (const { image } of spec.volumes ?? []) if (image !== undefined) image.pullPolicy = policy
    },
    validate(request) {
      if (bringsNoImage(request)) return
      const { spec } = objectOf(Pod, request)
      const check = new Check(spec, 'spec')
      eachContainer(spec, ({ imagePullPolicy = '' }, list, index) => {
        if (imagePullPolicy !== policy) checkAtContainer(check, list, index).at('imagePullPolicy').notSupported([policy], imagePullPolicy)
      })
      for (const [index, { image }] of (spec.volumes ?? []).entries()) {
        if (image === undefined || image.pullPolicy === policy) continue
        check
          .at('volumes')
          .at(index)
          .at('image')
          .at('pullPolicy')
          .notSupported([policy], image.pullPolicy ?? '')
      }
      // One or many, upstream answers them without a reason.
      const refusals = check.errors.map((error) => forbid(request, fieldErrorText(error)).message)
      if (refusals.length > 0) throw unknownFailure(aggregateMessages(refusals))
    },
  }
}

/** An update that runs what already runs is let alone. */
function bringsNoImage(request: AdmissionRequest): boolean {
  if (request.operation !== 'UPDATE') return false
  const before = imagesOf(oldObjectOf(Pod, request))
  return [...imagesOf(objectOf(Pod, request))].every((image) => before.has(image))
}

function imagesOf({ spec }: V1Pod): Set<string> {
  const images = new Set<string>()
  eachContainer(spec, ({ image = '' }) => images.add(image))
  return images
}
