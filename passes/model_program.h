#pragma once
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/model.h"
#include "ops/core/program_source.h"
#include "passes/pass.h"

namespace onward {

// The programs of one model: the passes behind the port that the trainer takes graphs from. The work that does not
// depend on a request is done once, in the constructor; tensors are shared by all programs. May be called from several
// threads.
class ModelProgram final : public ProgramSource {
 public:
  // Errors of the preparation: Error(kModel).
  ModelProgram(const Model& model, ProgramOptions options, const Registry& registry = onward::registry(),
               RunnerHooks hooks = {});
  ModelProgram(Graph graph, ProgramOptions options, const Registry& registry = onward::registry(),
               RunnerHooks hooks = {}, FunctionLookup functions = {});

  Graph program(const ProgramKey& key) override;
  // Runs the pipeline with hooks of its own, for dumps and timings.
  Graph program(const ProgramRequest& request, const RunnerHooks& hooks);

  const ProgramOptions& options() const { return options_; }
  // The prepared graph: roles given, not yet specialised.
  const Graph& prepared() const { return prepared_; }
  // Names of the trainable parameters and of the state of the model, in the order of the file.
  std::vector<std::string> parameters() const;
  std::vector<std::string> states() const;
  // Tensors that the program keeps apart although the file stores them once.
  const std::vector<UntiedTensor>& untied() const { return untied_; }
  // What the host has to know about the loss; makes an evaluation program if none was made yet. nullopt: there is none.
  std::optional<LossInfo> loss();
  // Each line once, in the order of appearance, over all programs made so far.
  std::vector<std::string> warnings() const;
  std::vector<std::string> facts() const;

 private:
  // Lines without repetition.
  class Lines {
   public:
    void add(const std::vector<std::string>& lines);
    const std::vector<std::string>& list() const { return list_; }

   private:
    std::vector<std::string> list_;
    std::set<std::string> seen_;
  };

  void prepare(const RunnerHooks& hooks, FunctionLookup functions);

  ProgramOptions options_;
  const Registry& registry_;
  Graph prepared_;
  std::vector<UntiedTensor> untied_;
  std::map<std::string, int> apart_;  // see PassContext
  bool batch_norm_folded_ = false;
  mutable std::mutex mutex_;  // of what follows
  bool loss_known_ = false;
  std::optional<LossInfo> loss_;
  Lines warnings_, facts_;
};

}  // namespace onward
