//! Fitted prediction intervals as a graph, at one level.

use stonet::anatomy::{FittedStack, FoldModel, Member, ScaleModel, Scaled};
use stonet::{FittedPostStoNet, Level};

use super::ranks::Ranks;
use super::{FEATURES, PREDICTION, eve};
use crate::Result;
use crate::graph::{Graph, Head, Tensor};

/// The graph from `features` (and `network_prediction`, where the model looks at it) to `prediction`, `lower` and `upper` at this level.
///
/// Where there are more than 400 scores per fold they are compressed, so that ends are at or beyond those of the model itself.
pub fn intervals(fitted: &FittedPostStoNet, level: Level) -> Result<Head> {
    let mut graph = Graph::default();
    let outputs = fitted.outputs();
    let ends = match (fitted.eve(), fitted.stacks()) {
        (Some(model), _) => eve::ends(&mut graph, model, fitted.features(), level),
        (None, stacks) => {
            let mut columns = [const { Vec::new() }; 3];
            for (j, stack) in stacks.unwrap_or_default().iter().enumerate() {
                let inputs = Inputs { features: fitted.features(), outputs, output: j };
                let ends = inputs.ends(&mut graph, stack, level)?;
                columns.iter_mut().zip(ends).for_each(|(c, end)| c.push(end));
            }
            columns.map(|c| graph.beside(&c))
        }
    };
    for (name, tensor) in ["prediction", "lower", "upper"].into_iter().zip(ends) {
        graph.output(name, tensor, outputs);
    }
    graph.finish(vec![
        ("stonet.task", "regression".into()),
        ("stonet.intervals", fitted.settings().kind.to_string()),
        ("stonet.level", level.get().to_string()),
    ])
}

/// Which of the graph's inputs a stack looks at.
#[derive(Clone, Copy)]
struct Inputs {
    features: usize,
    outputs: usize,
    /// The number of the stack's own output.
    output: usize,
}

impl Inputs {
    fn ends(self, graph: &mut Graph, stack: &FittedStack, level: Level) -> Result<[Tensor; 3]> {
        let ranks = Ranks::new(stack.scores(), level)?;
        let at: Vec<(Tensor, Tensor)> = stack.folds().iter().map(|fold| self.fold(graph, fold)).collect();
        let mirrored: Vec<(Tensor, Tensor)> = at.iter().map(|&(m, s)| (graph.op("Neg", &[m]), s)).collect();
        let upper = ranks.upper(graph, &at);
        let lower = ranks.upper(graph, &mirrored);
        let Some(sum) = graph.sum(at.iter().map(|a| a.0)) else { unreachable!("a stack has folds") };
        Ok([graph.times(sum, 1.0 / at.len() as f64), graph.op("Neg", &[lower]), upper])
    }

    fn x(self, graph: &mut Graph) -> Tensor {
        graph.input(FEATURES, self.features)
    }

    /// The network's own prediction of this output.
    fn d(self, graph: &mut Graph) -> Tensor {
        let all = graph.input(PREDICTION, self.outputs);
        if self.outputs == 1 { all } else { graph.columns(all, &[self.output]) }
    }

    /// μ and s, a column each.
    fn fold(self, graph: &mut Graph, fold: &FoldModel) -> (Tensor, Tensor) {
        let mut parts = Vec::new();
        for (weight, member) in fold.members() {
            let predicted = self.member(graph, member);
            parts.push(graph.times(predicted, *weight));
        }
        let Some(mean) = graph.sum(parts) else { unreachable!("a fold has members") };
        (mean, self.scale(graph, fold.scale_model(), mean))
    }

    fn member(self, graph: &mut Graph, member: &Member) -> Tensor {
        match member {
            Member::StoNet(net) => self.scaled(graph, net),
            Member::Ridge(ridge) => {
                let x = self.x(graph);
                graph.ridge(x, ridge)
            }
            Member::Network => self.d(graph),
            Member::Skip { intercept, slope, correction } => {
                let d = self.d(graph);
                let line = graph.line(d, *slope, *intercept);
                match correction {
                    Some(net) => {
                        let net = self.scaled(graph, net);
                        graph.op("Add", &[line, net])
                    }
                    None => line,
                }
            }
        }
    }

    fn scaled(self, graph: &mut Graph, net: &Scaled) -> Tensor {
        let x = self.x(graph);
        let z = graph.clipped(x, net.clip());
        let f = graph.network(z, net.network());
        let (mean, sd) = net.response();
        graph.line(f, sd, mean)
    }

    fn scale(self, graph: &mut Graph, model: &ScaleModel, mean: Tensor) -> Tensor {
        let x = self.x(graph);
        let ScaleModel::Learned { ridge, offset, low, high, network, centre } = model else {
            return graph.repeat(x, self.features, &[1.0]);
        };
        let from_centre = if *centre == 0.0 { mean } else { graph.line(mean, 1.0, -centre) };
        let mut design = vec![x, from_centre, graph.op("Mul", &[from_centre, from_centre])];
        if *network {
            let d = self.d(graph);
            let apart = graph.op("Sub", &[mean, d]);
            let apart = graph.op("Abs", &[apart]);
            let offset = graph.number(*offset);
            let kept = graph.op("Add", &[apart, offset]);
            design.push(graph.op("Log", &[kept]));
        }
        let design = graph.beside(&design);
        let fit = graph.ridge(design, ridge);
        let (low, high) = (graph.number(*low), graph.number(*high));
        let above = graph.op("Max", &[fit, low]);
        let within = graph.op("Min", &[above, high]);
        graph.op("Exp", &[within])
    }
}
