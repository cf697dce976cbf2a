import { type Chapter, linesOf } from './lines.ts'

export const kustomizing: Chapter = {
  name: 'kustomizations',
  lines: linesOf(`
    kustomize {dir}/base
    kustomize {dir}/overlay
    kustomize {dir}/patched
    kustomize {dir}/with-component
    kustomize {dir}/replacing
    kustomize {dir}/nosuch
    kustomize {dir}
    apply -k {dir}/base
    get -k {dir}/base -o name
    36| delete -k {dir}/base
  `),
}
