/** Fischers say which names flunders may not have. */
import { defineKind, defineServedKind, type KubernetesObject } from '#index.ts'

type FischerObject = KubernetesObject & { disallowedFlunders?: string[] }

const address = { group: 'wardle.example.com', version: 'v1alpha1', kind: 'Fischer', plural: 'fischers' } as const

/** To look them up with. */
export const Fischer = defineKind<FischerObject>({ ...address, scope: 'Cluster' })

export const fischers = defineServedKind({
  ...address,
  scope: 'Cluster',
  versions: {
    v1alpha1: {
      isStored: true,
      schema: {
        type: 'object',
        description: 'Fischer says which names flunders may not have.',
        properties: {
          disallowedFlunders: {
            type: 'array',
            items: { type: 'string' },
            description: 'Names that no flunder may have.',
            'x-kubernetes-list-type': 'atomic',
          },
        },
      },
    },
  },
})
