import { type Chapter, type Line, linesOf } from './lines.ts'

const profiles = ['legacy', 'general', 'baseline', 'restricted', 'netadmin', 'sysadmin']

/** Containers to look into pods with; the simulated node runs them. */
export const debugging: Chapter = {
  name: 'debugging',
  byHand: true,
  lines: [
    ...linesOf(`
      apply -f {dir}/probed.yaml
      wait pod/probed --for=condition=Ready --timeout=60s
      debug probed
      debug
      debug probed --image=busybox --profile=foo
      debug probed --image=busybox -t
      debug probed --image=busybox -c same --target=main
      debug nosuch --image=busybox
      debug node/nosuch --image=busybox
      debug cm/x --image=busybox
      debug probed --image=busybox --copy-to=probed
      debug probed --set-image=*=nginx:2 --copy-to=c1
      debug probed --set-image=main=nginx:2,side=busybox:3 --copy-to=c2
      debug probed --set-image=nosuch=nginx:2 --copy-to=c3
      debug probed --image=busybox --set-image=main=nginx:2 --copy-to=c4 -c dbg
      debug probed --copy-to=c5 -c main -- sleep 1
      debug probed --copy-to=c6 -c main --arguments-only -- one two
      debug probed --copy-to=c7 --image=busybox -c dbg --share-processes=false --same-node
      debug probed --copy-to=c8 --image=busybox -c dbg --keep-labels --keep-annotations --keep-liveness --keep-readiness --keep-startup --keep-init-containers
      debug probed --copy-to=c9 --image=busybox -c dbg --keep-init-containers=false
      debug probed --copy-to=c10 --image=busybox -c dbg --replace
      apply -f {dir}/probed.yaml
      debug probed --image=busybox -c env --env=A=b --env=C=d --image-pull-policy=Always -- sleep 5
      debug probed --image=busybox -c custom1 --custom={dir}/custom.json
      debug probed --image=busybox -c custom2 --custom={dir}/custom.yaml --profile=restricted
      debug probed --image=busybox -c custom3 --custom={dir}/custom-bad.yaml
      debug probed --image=busybox -c custom4 --custom={dir}/nosuch.yaml
      debug probed --image=busybox -c custom5 --copy-to=c11 --custom={dir}/custom.json
      debug node/sim-node-1 --image=busybox --custom={dir}/custom.json
      debug probed --image=busybox -q -c quiet
      debug probed --image=busybox --attach=false -i -c noattach
      debug probed probed2 --image=busybox
    `),
    ...profiles.flatMap((profile): Line[] => [
      { run: `debug probed --image=busybox -c dbg-${profile} --profile=${profile}`, since: 36 },
      { run: `debug probed --image=busybox -c dbg --copy-to=copy-${profile} --profile=${profile}`, since: 36 },
      { run: `debug node/sim-node-1 --image=busybox --profile=${profile}`, since: 36 },
      { run: `debug node/sim-node-1 --image=busybox -c mine --env=A=b --profile=${profile} -- sleep 3`, since: 36 },
    ]),
  ],
}

export const debugged: Readonly<Record<string, string>> = {
  'probed.yaml': `apiVersion: v1
kind: Pod
metadata:
  name: probed
  labels: {app: probed}
  annotations: {note: kept}
spec:
  initContainers:
  - {name: first, image: busybox, command: ['true']}
  containers:
  - name: main
    image: nginx:1
    args: [a]
    ports: [{containerPort: 80}]
    livenessProbe: {tcpSocket: {port: 80}}
    readinessProbe: {tcpSocket: {port: 80}}
    startupProbe: {tcpSocket: {port: 80}}
  - {name: side, image: busybox}
`,
  'custom.json': `{"env":[{"name":"X","value":"y"}],"securityContext":{"runAsUser":1000},"volumeMounts":[{"name":"v","mountPath":"/v"}],"resources":{"limits":{"cpu":"1"}}}`,
  'custom.yaml': `env:\n- name: FROM\n  value: yaml\nworkingDir: /tmp\n`,
  'custom-bad.yaml': `name: other\n`,
}
