import { type Chapter, type Line, linesOf } from './lines.ts'

/** Each is asked for what may follow; the last word is as it stands, or empty behind `_`. */
const typed = `
  _
  ge
  get _
  get po
  get cm/ _
  get cm/
  get -
  get --o
  get cm -n _
  get cm --namespace=
  get -o _
  get -o j
  delete cm one _
  describe node _
  apply _
  rollout _
  rollout status _
  rollout pause _
  rollout undo deploy/
  scale _
  scale deploy _
  autoscale _
  expose _
  taint _
  set image _
  set env _
  create _
  create secret _
  create deployment _
  create -f _
  config _
  config use-context _
  config delete-user _
  config get-contexts _
  top node _
  cordon _
  drain _
  explain po
  completion _
  wait _
  run _
  version -o _
  cluster-info _
  --context _
  --user _
  plugin _
  edit _
`

const asked = (line: string): Line => ({
  run: `__completeNoDesc -n {ns} ${line.replace(/_$/, "''")}`,
  readsOnly: true,
  isUnordered: true,
  since: 36,
})

export const completing: Chapter = {
  name: 'words for shells',
  lines: [...linesOf('create cm one\ncreate deployment web --image=x'), ...linesOf(typed).map(({ run }) => asked(run))],
}
